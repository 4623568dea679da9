"""Scripts for spark-submit, in a separate folder because spark-submit puts a script's folder on Python's path."""
