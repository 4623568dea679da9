"""Search for the cheapest plan within the limits."""
