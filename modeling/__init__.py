"""The performance model: pure functions that predict the behaviour of a physical plan under a load.

Most users need only `modeling.api`. This module imports nothing, so that reading a file loads no queueing code.
"""
