"""Pages of the arrival history."""
