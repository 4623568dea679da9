"""Micro-services: a caller holds a thread of its pool until the callee has answered."""
