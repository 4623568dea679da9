"""The performance model: pure functions of values that tell what a physical plan would do under a load.

What most users need is in `modeling.api`. Nothing is loaded here: who reads a file needs no queues.
"""
