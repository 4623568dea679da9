"""What a rescale costs: state, downtime, backlog, catch-up."""
