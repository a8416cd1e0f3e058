"""Builds: what an edge takes, how many run at once, and why one failed."""
