"""Forecasts of a raced topic: counted by Kafka's offsets and made by the pipeline while the race runs."""

from collections.abc import Mapping
from concurrent.futures import Executor, Future
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np

from forecasting.arrivals.history import ArrivalSeries
from forecasting.arrivals.sources.kafka_offsets import KafkaOffsets
from forecasting.forecast import Forecast
from forecasting.pipeline import issue, known_history, train
from forecasting.terms import ForecastTerms
from forecasting.trained import Trained


@dataclass(frozen=True)
class RacedTopic:
    """What is read: all from start_s on, in windows as wide as a forecast's step."""

    servers: str
    name: str
    topology: str
    source: str
    start_s: int
    terms: ForecastTerms

    def history(self, until_s: float, known: ArrivalSeries | None = None) -> ArrivalSeries:
        """known: what was read before; only newer windows are read then."""
        step_s = self.terms.step_s
        start = known.end if known is not None else datetime.fromtimestamp(self.start_s, UTC)
        end = datetime.fromtimestamp(until_s // step_s * step_s, UTC)
        if known is not None and end <= start:
            return known
        offsets = KafkaOffsets(self.servers, {self.source: self.name}, settle_s=0.0)
        counts = offsets.read(start, end, step_s).sources[self.source].counts.astype(np.float64)
        if known is not None:
            return replace(known, counts=np.concatenate([known.counts, counts]))
        return ArrivalSeries(self.topology, self.source, start, step_s, counts)


@dataclass(frozen=True)
class Learnt:
    trained: Trained
    history: ArrivalSeries


def learnt(topic: RacedTopic, at_s: float) -> Learnt:
    at, history = datetime.fromtimestamp(at_s, UTC), topic.history(at_s)
    return Learnt(train(history, issued_at=at, terms=topic.terms), history)


def issued(topic: RacedTopic, known: Learnt, at_s: float) -> tuple[Forecast, Learnt]:
    at, history = datetime.fromtimestamp(at_s, UTC), topic.history(at_s, known.history)
    return issue(known.trained, known_history(history, at, topic.terms.step_s), issued_at=at), replace(
        known, history=history
    )


class KafkaForecasts:
    """Asks for a forecast every every_s, in another process; until it is there, the one before is the newest."""

    def __init__(self, topic: RacedTopic, executor: Executor, begin_s: float, every_s: int) -> None:
        self._topic, self._executor, self._every_s = topic, executor, every_s
        self._known = executor.submit(learnt, topic, begin_s).result()
        self._newest: Mapping[str, Forecast] = {}
        self._asked_s = -1.0
        self._coming: Future[tuple[Forecast, Learnt]] | None = None
        self._ask(begin_s)
        assert self._coming is not None
        self._coming.result()  # the first one is there when the race begins

    def at(self, at_s: float) -> Mapping[str, Forecast]:
        if self._coming is not None and self._coming.done():
            forecast, self._known = self._coming.result()
            self._newest, self._coming = {self._topic.source: forecast}, None
        if self._coming is None and at_s // self._every_s * self._every_s > self._asked_s:
            self._ask(at_s // self._every_s * self._every_s)
        return self._newest

    def _ask(self, at_s: float) -> None:
        self._asked_s = at_s
        self._coming = self._executor.submit(issued, self._topic, self._known, at_s)
