"""What pytest leaves alone when it looks for doctests, and how hypothesis runs everywhere."""

import os

from hypothesis import settings

# What only MLflow and Airflow run has no doctests: importing either takes seconds.
collect_ignore = [
    "forecasting/tracking/pyfunc_model.py",
    "forescale/tracking/calibration_pyfunc.py",
    "forescale/orchestration",
]

# How long an example takes says more about the machine than about the code. With CI=true the examples follow from the
# code, as is hypothesis' own default there: what fails is due to the change. At a desk, make test looks for others.
settings.register_profile("forescale", deadline=None, derandomize=os.environ.get("CI") == "true")
settings.load_profile("forescale")
# Of make unit: same code, same examples, and few of them.
settings.register_profile("same-examples", settings.get_profile("forescale"), derandomize=True, max_examples=25)
