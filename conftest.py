"""What pytest leaves alone when it looks for doctests, and how hypothesis runs everywhere."""

from hypothesis import settings

# What only MLflow and Airflow run has no doctests: importing either takes seconds.
collect_ignore = [
    "forecasting/tracking/pyfunc_model.py",
    "forescale/tracking/calibration_pyfunc.py",
    "forescale/orchestration",
]

# How long an example takes says more about the machine than about the code.
settings.register_profile("forescale", deadline=None)
settings.load_profile("forescale")
# Of make unit: same code, same examples, and few of them. make test looks for 100 others each time.
settings.register_profile("same-examples", settings.get_profile("forescale"), derandomize=True, max_examples=25)
