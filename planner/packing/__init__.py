"""Packers: which container holds which instance. One protocol, one file per rule; docs/packing.md lists the sources."""
