"""What the Airflow DAGs are made of: assets, form fields, the wait on a clock, the review. Nothing is computed here."""
