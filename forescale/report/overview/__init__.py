"""All topologies on one page, and one page about each: where they stand and where to read on."""
