"""The HTTP interface of Prometheus, and of servers that answer like it."""
