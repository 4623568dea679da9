"""Prometheus: arrivals from its counters, and samples of services from their histograms of request durations."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from forecasting.arrivals.arrival_source import ArrivalSource
from forescale.files.arrivals_section import PrometheusEntry
from forescale.files.topology import TopologyConfig
from forescale.settings import Settings
from forescale.wiring.engines.engine import ArrivalsKind, EngineAdapter, SampleRequest, SamplesKind, own_connection

if TYPE_CHECKING:
    from modeling.calibration.operator_sample import OperatorSample

PAST_S = 600.0
"""Default span in seconds of samples."""


def _open(
    config: TopologyConfig, arrivals: PrometheusEntry, settings: Settings, now: datetime
) -> AbstractContextManager[ArrivalSource]:
    from forecasting.arrivals.sources.prometheus import Prometheus

    return nullcontext(Prometheus(**arrivals.of_the_source()))


def _samples(request: SampleRequest, config: TopologyConfig) -> "Sequence[OperatorSample]":
    from planner.clusters.service_samples import RequestCounters, service_operator_samples

    section = config.services
    counters = RequestCounters(section.threads, section.requests, section.calls, section.replica_label)
    now_s = datetime.now(UTC).timestamp()
    return service_operator_samples(
        request.url,
        request.topology,
        counters,
        until_s=now_s,
        span_s=request.span_s or PAST_S,
        spans=request.spans,
        **own_connection(request.url, config),
    )


PROMETHEUS = EngineAdapter(
    "prometheus",
    arrivals=ArrivalsKind(PrometheusEntry, _open),
    samples=SamplesKind("--prometheus", "Prometheus", _samples, uses=frozenset({"--span"})),
)
