"""Adapters to the clusters that run topologies, behind the protocol in `planner.clusters.cluster`."""
