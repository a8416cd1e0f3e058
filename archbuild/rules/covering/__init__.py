"""Which devices and drivers code runs on: the rule of the house, and what follows from it."""
