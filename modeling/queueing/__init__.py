"""Queueing mathematics independent of topologies: waits, distributions of times, variability of streams."""
