"""What to build: architecture lists, requests and toolkits to gencodes, source by source."""
