"""Reads and checks every file that people or other tools write for forescale; writes files atomically."""
