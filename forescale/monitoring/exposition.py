"""Metrics as text: OpenMetrics for scraping, Prometheus' own format for node exporter and the Pushgateway."""

import math
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import unquote
from urllib.request import Request, build_opener

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import generate_latest, push_to_gateway
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.registry import Collector

from engines.deadline import within
from engines.redaction import without_secrets
from forescale.files.atomic import write_whole
from forescale.monitoring.errors import PushError
from forescale.monitoring.metrics import METRICS, MetricDefinition
from forescale.standing import Standings

JOB = "forescale"
"""The label `job` of pushed metrics."""
PUSH_S = 9.0
UP = "forescale_up"


@dataclass(frozen=True)
class Sample:
    name: str
    labels: Mapping[str, str]
    value: float


def openmetrics(known: Standings) -> str:
    text: bytes = generate_openmetrics(_registry(known))  # type: ignore[no-untyped-call]
    return text.decode()


def write_metrics(known: Standings, path: Path) -> Path:
    """Write, atomically, a file for node exporter's textfile collector, which reads Prometheus' own format only."""
    return write_whole(generate_latest(_registry(known)).decode(), path)


def push_metrics(known: Standings, url: str) -> None:
    """Replace everything pushed before. Raises PushError, without the password that the URL may hold."""
    gateway = _Gateway.of(url)
    secrets = [url, *gateway.secrets]
    push = partial(push_to_gateway, job=JOB, registry=_registry(known), timeout=PUSH_S, handler=gateway.handler)
    try:
        within(PUSH_S, partial(push, gateway.url))
    except (OSError, ValueError, HTTPException) as error:  # the latter two: an invalid URL, and a server without HTTP
        raise PushError(
            f"the Pushgateway of --push refused the metrics: {without_secrets(str(error), filter(None, secrets))}; "
            "check its "
            "URL, and that it runs"
        ) from None


@dataclass(frozen=True)
class _Gateway:
    """url: without the login that users write into it."""

    url: str
    login: str = field(repr=False)

    @classmethod
    def of(cls, url: str) -> "_Gateway":
        before, separator, after = url.partition("://")
        login, _, place = (after if separator else before).rpartition("@")
        return cls(f"{before}://{place}" if separator else place, login)

    @property
    def secrets(self) -> tuple[str, ...]:
        user, _, password = self.login.partition(":")
        return user, password, unquote(user), unquote(password)

    def handler(
        self, url: str, method: str, timeout: float | None, headers: Sequence[tuple[str, str]], data: bytes
    ) -> Callable[[], None]:
        """As prometheus_client wants it, which takes any answer of a proxy for that of a Pushgateway."""
        user, _, password = self.login.partition(":")
        login = b64encode(f"{unquote(user)}:{unquote(password)}".encode()).decode()
        own = {"Authorization": f"Basic {login}"} if self.login else {}

        def send() -> None:
            request = Request(url, data, {**dict(headers), **own}, method=method)  # noqa: S310 - only http(s) comes here
            try:
                with build_opener().open(request, timeout=timeout) as answer:
                    if "html" in answer.headers.get_content_type():
                        raise OSError("a web page answered, perhaps that of a proxy or a login")
            except HTTPError as refusal:
                refusal.close()
                raise OSError(f"HTTP {refusal.code} {refusal.reason}") from None

        return send


def samples(known: Standings) -> list[Sample]:
    return [
        Sample(sample.name, dict(sample.labels), sample.value)
        for family in _registry(known).collect()
        for sample in family.samples
    ]


def _registry(known: Standings) -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(_Standing(known))
    return registry


class _Standing(Collector):
    def __init__(self, known: Standings) -> None:
        self._known = known

    def collect(self) -> Iterator[Family]:
        up = GaugeMetricFamily(UP, "1 where the topology could be read, 0 where not all of it.", labels=["topology"])
        read = dict.fromkeys((standing.topology for standing in self._known.known), 1)
        for name, value in (read | dict.fromkeys(self._known.lacking, 0)).items():
            up.add_metric([name], value)
        yield up
        for metric in METRICS:
            yield self._family(metric)

    def _family(self, metric: MetricDefinition) -> Family:
        kind = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
        labels = ("topology", *metric.labels)
        family: CounterMetricFamily | GaugeMetricFamily = kind(
            metric.name, metric.help, labels=labels, unit=metric.unit
        )
        for standing in self._known.known:
            for told, value in metric.read(standing):
                if value is not None and not math.isnan(value):
                    family.add_metric([standing.topology, *(told[label] for label in metric.labels)], value)
        return family
