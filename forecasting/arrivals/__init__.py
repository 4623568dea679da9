"""Arrival history: raw events counted per window and source, where missing is never zero."""
