"""The inputs of the model: topology, plan, profiles, site, targets."""
