"""Meshes: made from shapes, read from files, refined, checked."""
