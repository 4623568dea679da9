"""How the interfaces of other systems are spoken to, once: what is read of them is up to forecasting and planner."""
