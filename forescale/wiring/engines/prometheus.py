"""Prometheus: arrivals from its counters, and samples of services from their histograms of request durations."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from forecasting.arrivals.arrival_source import ArrivalSource
from forescale.files.arrivals_section import PrometheusEntry
from forescale.files.services_section import ServicesSection
from forescale.files.topology import TopologyConfig
from forescale.settings import Settings
from forescale.wiring.engines.engine import ArrivalsKind, EngineAdapter
from planner.errors import ClusterError

if TYPE_CHECKING:
    from modeling.calibration.operator_sample import OperatorSample

SPANS = 5
"""Parts into which the span of services' samples is divided."""


def _open(
    config: TopologyConfig, arrivals: PrometheusEntry, settings: Settings, now: datetime
) -> AbstractContextManager[ArrivalSource]:
    from forecasting.arrivals.sources.prometheus import Prometheus

    return nullcontext(Prometheus(**arrivals.of_the_source()))


def service_samples(config: TopologyConfig, section: ServicesSection) -> "Sequence[OperatorSample]":
    """Of the services of a topology. The login of the section `arrivals` is sent to its own address alone. Raises
    ClusterError.
    """
    from engines.http import Connection
    from planner.clusters.service_samples import RequestCounters, service_operator_samples

    arrivals = config.arrivals_section if isinstance(config.arrivals_section, PrometheusEntry) else None
    url = section.url or (None if arrivals is None else arrivals.url)
    if url is None:
        raise ClusterError(f"section services of {config.topology}: give url, the address of Prometheus")
    connection = Connection()
    if arrivals is not None and arrivals.url.rstrip("/") == url.rstrip("/"):
        try:
            connection = arrivals.connection()
        except ValueError as error:  # the environment lacks a secret
            raise ClusterError(f"section arrivals of {config.topology}: {error}") from None
    counters = RequestCounters(section.threads, section.requests, section.calls, section.replica_label)
    return service_operator_samples(
        url,
        config.as_topology(),
        counters,
        until_s=datetime.now(UTC).timestamp(),
        span_s=section.sample_s,
        spans=SPANS,
        **connection,
    )


PROMETHEUS = EngineAdapter(
    "prometheus",
    arrivals=ArrivalsKind(PrometheusEntry, _open),
)
