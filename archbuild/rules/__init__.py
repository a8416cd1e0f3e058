"""Pure decisions: data in, data out; nothing here reads a file or asks a machine."""
