"""Results in, strings out."""
