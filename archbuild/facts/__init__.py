"""What NVIDIA and PyTorch publish, as typed rows with source and date; no logic."""
