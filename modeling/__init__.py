"""The performance model: pure functions of values that tell what a physical plan would do under a load."""
