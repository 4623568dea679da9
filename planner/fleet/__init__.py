"""Schedules of several topologies that share instances: how many each gets, and how their rescales are kept apart."""
