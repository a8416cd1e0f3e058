"""How an installed package is built again for the GPUs of a machine: pure decisions."""
