"""How tuples flow: routing, rates, saturation, throughput, and what they use of containers and links."""
