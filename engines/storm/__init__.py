"""Storm's UI."""
