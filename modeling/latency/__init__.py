"""End-to-end latency: variability from operator to operator, exact distributions, and three moments for many plans."""
