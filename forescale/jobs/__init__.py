"""The jobs of one decision, each a function of names that loads, computes, keeps and returns a small JSON-able summary.

Airflow's tasks and the command line call the same functions; the work itself lives in the packages below.
"""
