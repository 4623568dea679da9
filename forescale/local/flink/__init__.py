"""A real Flink on this machine, for the demo and the integration tests: fetched, built for, started, stopped."""
