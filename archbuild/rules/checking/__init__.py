"""Binaries held against what is asked of them: images to findings."""
