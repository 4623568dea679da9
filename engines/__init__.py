"""Clients for the interfaces of other systems; forecasting and planner interpret what they read."""
