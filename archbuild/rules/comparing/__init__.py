"""Two builds of a package: which file is which, and what one holds and the other does not."""
