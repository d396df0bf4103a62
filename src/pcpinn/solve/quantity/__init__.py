"""Quantities of interest of a solution, with estimates of their errors by adjoint problems."""
