"""The arrival history as commands and pages show it: spans, bins, checks of quality."""
