"""Marching through time, one window after another."""
