"""The page of a topology in shadow mode."""
