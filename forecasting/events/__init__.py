"""Events that are known beforehand, and what they do to arrivals."""
