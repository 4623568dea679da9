"""Arrival history and its forecast: what load will come, and how sure we are of it."""
