"""Airflow on this machine: its environment, its processes, its API."""
