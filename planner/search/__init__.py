"""Search for the cheapest plan that holds the target."""
