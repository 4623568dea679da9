"""The HTML report of one decision, for the person who reviews it."""
