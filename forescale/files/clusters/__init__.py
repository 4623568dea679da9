"""The section `cluster` of a topology file, one file per kind: where the topology runs."""
