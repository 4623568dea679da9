"""Events known in advance, and their effects on arrivals."""
