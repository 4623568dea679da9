"""A real Flink on this machine, for the demo and the integration tests: download, build, start, stop."""
