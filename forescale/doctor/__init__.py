"""Checks of everything that a decision needs, in the order of need, each with its remedy."""
