"""Costs of a rescale: state, downtime, backlog, catch-up."""
