"""The page that compares physical plans under a load."""
