"""What is to be solved: the PDE, its domain and its conditions."""
