"""Client of the Kubernetes API server: identity, reads, server-side apply, owners of fields."""
