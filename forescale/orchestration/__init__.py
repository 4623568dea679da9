"""Building blocks of the Airflow DAGs: assets, form fields, the wait on a clock, the review. No computation."""
