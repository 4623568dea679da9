"""A real Prometheus server, as every source of arrivals must be."""

import socket
from collections.abc import Iterator

import pytest
from contract.arrival_source_contract import SECRET, ArrivalSourceContract, KnownArrivals
from prometheus_history import BURST, moment
from pydantic import SecretStr

from forecasting.arrivals.arrival_source import Measures
from forecasting.arrivals.sources.prometheus import Prometheus

pytestmark = pytest.mark.prometheus


class TestPrometheusIsAnArrivalSource(ArrivalSourceContract):
    measures = Measures.THROUGHPUT
    within_s = 1.0

    @pytest.fixture
    def known(self) -> KnownArrivals:
        return KnownArrivals("feed", moment(120), 60, BURST)

    @pytest.fixture
    def source(self, known: KnownArrivals, prometheus: str) -> Prometheus:
        return Prometheus(prometheus, {known.source: "burst_total"})

    @pytest.fixture
    def unreachable(self) -> Iterator[Prometheus]:
        """A socket that takes connections and never answers."""
        with socket.create_server(("127.0.0.1", 0)) as silent:
            url = f"http://anna:{SECRET}@127.0.0.1:{silent.getsockname()[1]}"
            headers = {"X-Scope-OrgID": SecretStr(SECRET), "Authorization": SecretStr(f"Bearer {SECRET}")}
            yield Prometheus(url, {"feed": "burst_total"}, timeout_s=self.within_s, headers=headers)
