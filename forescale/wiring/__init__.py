"""Builds the parts that settings and a topology file name."""
