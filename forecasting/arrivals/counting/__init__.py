"""Counts raw events in files: Spark's tasks read and count rows with numpy, in large batches."""
