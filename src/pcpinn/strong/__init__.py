"""The strong form of a problem at points, and its conditions."""
