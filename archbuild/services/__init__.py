"""One question each: they load, call the rules and hand back a result."""
