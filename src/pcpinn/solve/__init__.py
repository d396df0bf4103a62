"""The algorithms; each takes a Problem and returns a Solution."""
