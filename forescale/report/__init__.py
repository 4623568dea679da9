"""HTML pages, by subject."""
