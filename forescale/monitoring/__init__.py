"""What others watch forescale by: metrics for Prometheus, and messages about incidents."""
