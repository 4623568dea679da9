"""Servers on this machine, loopback only: Airflow, MLflow, Flink; and the demo that runs the main job on them."""
