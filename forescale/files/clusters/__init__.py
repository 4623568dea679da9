"""The section `cluster` of a topology file, one kind a file: what a person writes of where the topology runs."""
