"""What pytest leaves alone when it looks for doctests."""

# MLflow runs this file; importing MLflow alone takes seconds and warns of its own annotations.
collect_ignore = ["forecasting/tracking/pyfunc_model.py"]
