"""Bytes to images: what device code a file holds."""
