"""Tuple flows: routing, rates, saturation, throughput, and the use of containers and links."""
