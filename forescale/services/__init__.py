"""The services around the planner on one machine, loopback only: Airflow and the MLflow server."""
