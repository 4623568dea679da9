"""A JVM of Spark that the system kills amid its work is named as such, and the next session is a new one."""

import subprocess
import sys

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.slow]

# In a process of its own: the tests of this folder share a session.
KILLED = """
import os, signal
from forecasting.arrivals.spark_session import running, spark_session
from forecasting.errors import HistoryError
from pyspark import SparkContext
try:
    with running(spark_session("local[1]", "killed")) as spark:
        os.kill(SparkContext._gateway.proc.pid, signal.SIGKILL)
        spark.range(10).count()
except HistoryError as error:
    print(error)
with running(spark_session("local[1]", "again")) as spark:
    print(spark.range(10).count(), "rows")
"""


def test_a_killed_jvm__is_named_and_the_next_session_works() -> None:
    done = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, text=True, timeout=120, check=True)
    said, rows = done.stdout.splitlines()
    assert "ended with -9 while it worked; if the system killed it for its memory" in said
    assert "FORESCALE_SPARK_MEMORY" in said
    assert rows == "10 rows"
