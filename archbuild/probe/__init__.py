"""The machine to a value of the model: GPUs, driver, toolkits, torch."""
