"""What pytest leaves alone when it looks for doctests, and how hypothesis runs everywhere."""

import os
from collections.abc import Generator
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule
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


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Doctests of files that have any, one in thirteen: each other file would be imported and searched for them."""
    found = yield
    if any(isinstance(each, DoctestModule) for each in found) and b">>>" not in file_path.read_bytes():
        return [each for each in found if not isinstance(each, DoctestModule)]
    return found
