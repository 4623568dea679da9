"""The arrival history as commands and pages look at it: spans, bins, checks of quality."""
