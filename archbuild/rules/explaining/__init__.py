"""What an error text means, joined with the machine and the binary that failed. Pure."""
