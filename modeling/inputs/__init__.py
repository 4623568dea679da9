"""What the model is asked of: topology, plan, profiles, site, targets."""
