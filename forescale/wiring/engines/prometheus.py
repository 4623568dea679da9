"""Counters that Prometheus keeps."""

from contextlib import AbstractContextManager, nullcontext
from datetime import datetime

from forecasting.arrivals.arrival_source import ArrivalSource
from forescale.files.arrivals_section import PrometheusEntry
from forescale.files.topology import TopologyConfig
from forescale.settings import Settings
from forescale.wiring.engines.engine import ArrivalsKind, Engine


def _open(
    config: TopologyConfig, arrivals: PrometheusEntry, settings: Settings, now: datetime
) -> AbstractContextManager[ArrivalSource]:
    from forecasting.arrivals.sources.prometheus import Prometheus

    return nullcontext(Prometheus(**arrivals.of_the_source()))


PROMETHEUS = Engine("prometheus", arrivals=ArrivalsKind(PrometheusEntry, _open))
