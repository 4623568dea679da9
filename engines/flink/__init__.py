"""Flink's REST interface."""
