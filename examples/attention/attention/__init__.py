"""Softmax for attention, by size and type."""
