"""How the history lies on disk: parts, manifests and snapshots. `store` and `quality`, one folder up, are its doors."""
