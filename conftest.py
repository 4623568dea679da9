"""What pytest leaves alone when it looks for doctests, and how hypothesis runs everywhere."""

from hypothesis import settings

# MLflow runs this file; importing MLflow alone takes seconds and warns of its own annotations.
collect_ignore = ["forecasting/tracking/pyfunc_model.py"]

# How long an example takes says more about the machine than about the code.
settings.register_profile("forescale", deadline=None)
settings.load_profile("forescale")
