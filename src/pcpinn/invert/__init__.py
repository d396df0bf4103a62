"""Unknown coefficients from data."""
