"""Schedules of several topologies that share instances: who gets how many, and when nobody else rescales."""
