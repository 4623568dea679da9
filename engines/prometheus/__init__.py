"""The HTTP interface of Prometheus and compatible servers."""
