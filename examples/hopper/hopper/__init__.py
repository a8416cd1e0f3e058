"""Scaling, on every GPU in its own way."""
