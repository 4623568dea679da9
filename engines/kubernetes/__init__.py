"""How the Kubernetes API server is spoken to: identity, reads, server-side apply, owners of fields."""
