"""Many orders over a real Spark session: the same outcomes as one after another, and failures that stay their own."""

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sample_orders import order_of, poisoned, short_requests

from forecasting import spark_tasks
from forecasting.arrivals.spark_session import spark_session
from forecasting.fleet import forecast_each
from forecasting.fleet_spark import forecast_over_spark
from forecasting.spark_tasks import WORKER_SETTINGS, over_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SOURCES = 12


@pytest.fixture(scope="module")
def spark() -> "SparkSession":
    fast_start = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    # The session is shared with other tests of this process, so it is left running.
    return spark_session("local[2]", "tests", driver_java_options=fast_start, settings=WORKER_SETTINGS)


def test_a_fleet_over_spark__says_the_same_as_one_source_after_another(spark: "SparkSession", tmp_path: Path) -> None:
    series = [short_requests(f"web {number}", seed=number) for number in range(SOURCES)]
    here = list(forecast_each([order_of(one, tmp_path / "here") for one in series]))
    orders = [order_of(one, tmp_path / "there") for one in series]
    there = list(forecast_over_spark(spark, orders))
    assert [outcome.source for outcome in there] == [one.source for one in series]
    assert [outcome.digest for outcome in there] == [outcome.digest for outcome in here]
    assert len({outcome.digest for outcome in there}) == SOURCES
    # Workers kept what they trained where the driver finds it.
    assert all((order.trained / "trained.json").exists() for order in orders)


def test_poisoned_series__hurt_no_other_over_spark(spark: "SparkSession", tmp_path: Path) -> None:
    web = order_of(short_requests(), tmp_path)
    bad = poisoned(tmp_path)
    outcomes = {each.source: each for each in forecast_over_spark(spark, [*bad.values(), web])}
    assert outcomes["web"].failure == ""
    assert {source for source, outcome in outcomes.items() if outcome.failure} == {
        "all NaN",
        "negative",
        "three points",
        "a year of gaps",
    }
    alone = {each.source: each.failure for each in forecast_each(list(bad.values()))}
    assert {source: outcome.failure for source, outcome in outcomes.items() if source in bad} == alone


def test_a_worker_that_dies__costs_its_own_source_alone(spark: "SparkSession", tmp_path: Path) -> None:
    orders = [order_of(short_requests(name), tmp_path) for name in ("one", "two", "three")]

    class Deadly:
        """What a worker reads first of an order, and what ends its process."""

        @property
        def events(self) -> None:
            os._exit(3)

    deadly = replace(orders[1], calendar=Deadly())  # type: ignore[arg-type]
    outcomes = list(forecast_over_spark(spark, [orders[0], deadly, orders[2]]))
    assert [bool(outcome.failure) for outcome in outcomes] == [False, True, False]
    assert "its Spark worker died" in outcomes[1].failure


def test_more_tasks_than_a_job_takes__are_carried_out_in_order(
    spark: "SparkSession", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_tasks, "MAX_PER_JOB", 3)
    # Three jobs: of three, of three and of one.
    assert over_spark(spark, abs, [-1, 2, -3, 4, -5, 6, -7]) == [1, 2, 3, 4, 5, 6, 7]


def test_no_order__is_no_work(spark: "SparkSession") -> None:
    assert list(forecast_over_spark(spark, [])) == []
