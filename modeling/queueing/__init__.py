"""Queueing mathematics that knows no topology: waits, distributions of a time, variability of streams."""
