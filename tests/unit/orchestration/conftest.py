"""Airflow makes its folder when it is imported: not in the home of whoever runs the tests."""

import os
import tempfile
from pathlib import Path

os.environ.setdefault("AIRFLOW_HOME", str(Path(tempfile.gettempdir()) / "forescale-tests-airflow"))
