"""From forecast and model to a scaling schedule, and from the schedule to the cluster."""
