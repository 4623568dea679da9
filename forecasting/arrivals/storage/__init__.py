"""Storage of the history, on disk or in an object store: parts, manifests and snapshots.

`store` and `quality`, one folder up, are its entry points.
"""
