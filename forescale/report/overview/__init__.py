"""One page on all topologies, and one on each: where they stand and links to more."""
