"""The pages that Airflow's API server serves under *Scaling*, with Airflow's own login and roles."""
