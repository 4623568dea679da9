"""Packers: which container holds which instance. One protocol, a file for each rule; docs/packing.md names sources."""
