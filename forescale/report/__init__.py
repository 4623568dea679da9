"""HTML pages, sorted by subject."""
