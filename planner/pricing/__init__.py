"""Hourly cost of plans: by instances, or by the containers and nodes that their packing uses."""
