"""Micro-services: a caller holds a thread of its pool while the callee answers."""
