"""Two replicas of Prometheus scrape the same pods: their series are named, and deduplicate_by counts each once."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from json_stand_in import JsonStandIn, Query, json_stand_in

from forecasting.arrivals.arrival_source import Measures, SeriesCopies
from forecasting.arrivals.sources.prometheus import Prometheus

NOON = datetime(2024, 3, 3, 12, tzinfo=UTC)
NOON_S = NOON.timestamp()
HOUR = timedelta(hours=1)

Counter = Callable[[float], float]


def per_s(rate: float) -> Counter:
    """A counter since 11:00."""
    return lambda at_s: np.floor(rate * (at_s - NOON_S + 3600))


class Scraped:
    """Series by labels, scraped every 15 s from a phase on, up to a time if it is given."""

    def __init__(self, stand_in: JsonStandIn) -> None:
        self.url = stand_in.url
        self._series: list[tuple[dict[str, str], Counter, float, float]] = []
        stand_in.answers["/api/v1/query"] = self._answer

    def add(self, counter: Counter, *, phase_s: float = 0, until_s: float = 1e12, **labels: str) -> None:
        self._series.append(({"__name__": "orders_total", **labels}, counter, phase_s, until_s))

    def _answer(self, query: Query) -> dict[str, Any]:
        end_s, span_s = float(query["time"][0]), int(query["query"][0].split("[")[1].rstrip("ms]")) / 1000
        result = []
        for labels, counter, phase_s, until_s in self._series:
            at = np.arange(np.floor((end_s - span_s) / 15) * 15 + phase_s, min(end_s, NOON_S + until_s) + 1e-6, 15)
            at = at[at > end_s - span_s]
            if at.size:
                result.append({"metric": labels, "values": [[float(each), str(counter(each))] for each in at]})
        return {"status": "success", "data": {"resultType": "matrix", "result": result}}


@pytest.fixture
def scraped() -> Iterator[Scraped]:
    with json_stand_in() as running:
        yield Scraped(running)


def read(scraped: Scraped, deduplicate_by: str | None = None) -> tuple[int, tuple[SeriesCopies, ...], Any]:
    """Events of the hour from noon on, the copies, and the spans in which the source was alive."""
    source = Prometheus(
        scraped.url, {"orders": "orders_total"}, measures=Measures.OFFERED, deduplicate_by=deduplicate_by
    )
    orders = source.read(NOON, NOON + HOUR, 300).sources["orders"]
    return int(orders.counts.sum()), orders.copies, orders.alive


def test_replicas__are_named_and_deduplicate_by_counts_them_once(scraped: Scraped) -> None:
    for pod, rate in (("a", 2.0), ("b", 3.0)):
        for phase_s, replica in ((0, "prometheus-0"), (7, "prometheus-1")):
            scraped.add(per_s(rate), phase_s=phase_s, pod=pod, replica=replica)
    doubled, copies, _ = read(scraped)
    assert doubled == 2 * 5 * 3600
    assert copies == (SeriesCopies("orders", "replica", ("prometheus-0", "prometheus-1"), 2),)
    once, copies, _ = read(scraped, "replica")
    assert once == 5 * 3600
    assert copies == ()


def test_pods__that_share_the_load_by_chance_are_no_copies(scraped: Scraped) -> None:
    rng = np.random.default_rng(1)
    for pod in "abcd":
        counted = np.concatenate([[0], np.cumsum(rng.poisson(2.0, 20_000))])
        scraped.add(lambda at_s, of=counted: float(of[int(at_s - NOON_S + 7200)]), pod=pod)
    assert read(scraped)[1] == ()


def test_a_replica_that_goes_away__is_continued_by_the_other(scraped: Scraped) -> None:
    scraped.add(per_s(4.0), replica="a", until_s=1800)
    scraped.add(per_s(4.0), replica="b", phase_s=7)
    count, _, alive = read(scraped, "replica")
    assert count == 4 * 3600
    assert alive.shape == (1, 2)


def test_one_infinite_sample__is_set_aside_and_named_with_its_time(
    scraped: Scraped, caplog: pytest.LogCaptureFixture
) -> None:
    """One of 480 in two hours; the counter is read again 15 s later, so nothing of the count is lost."""
    scraped.add(lambda at_s: np.inf if at_s == NOON_S + 1800 else float(np.floor(2 * (at_s - NOON_S + 3600))))
    source = Prometheus(scraped.url, {"orders": "orders_total"}, measures=Measures.OFFERED)
    with caplog.at_level("WARNING"):
        orders = source.read(NOON, NOON + HOUR, 300).sources["orders"]
    assert orders.counts.tolist() == [600] * 12
    assert orders.tallies["damaged"].tolist() == [0] * 6 + [1] + [0] * 5
    assert "the first at 2024-03-03T12:30:00Z (inf); they are set aside" in caplog.text
