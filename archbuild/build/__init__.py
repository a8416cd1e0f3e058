"""The engine below BuildExtension: what to compile, with which flags, and the check after it."""
