"""Monitoring of forescale itself: metrics for Prometheus, and messages about incidents."""
