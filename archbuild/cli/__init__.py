"""The command line: one module for each command, which parses, calls and prints."""
