"""The report of one scaling decision, for the person who reviews it."""
