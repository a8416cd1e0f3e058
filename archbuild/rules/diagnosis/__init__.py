"""What is wrong with a machine, and what cures it: pure decisions over a Machine."""
