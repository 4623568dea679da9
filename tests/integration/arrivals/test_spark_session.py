"""The Spark session: how it is set, that Python runs in it, and what is said without Java."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from forecasting.arrivals.spark_session import spark_session
from forecasting.errors import HistoryError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.spark
def test_session__runs_a_pandas_function(spark: "SparkSession") -> None:
    # Another package that overwrites files of PySpark breaks just this: "Constructor … does not exist".
    from pyspark.sql import functions as F  # noqa: N812

    def doubled(parts: Iterator[pd.Series]) -> Iterator[pd.Series]:
        for part in parts:
            yield part * 2

    double = F.pandas_udf(doubled, "long")
    assert [row[0] for row in spark.range(4).select(double("id")).collect()] == [0, 2, 4, 6]


@pytest.mark.spark
def test_session__keeps_to_loopback_and_utc_and_shows_no_page(spark: "SparkSession") -> None:
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert spark.conf.get("spark.driver.host") == "localhost"
    assert spark.sparkContext.uiWebUrl is None


def test_session__without_java__says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(HistoryError, match="none on PATH or under JAVA_HOME; install Java 17"):
        spark_session("local[1]", "tests")


def test_session__with_a_java_home_that_holds_no_java__says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with pytest.raises(HistoryError, match="set JAVA_HOME to it"):
        spark_session("local[1]", "tests")
