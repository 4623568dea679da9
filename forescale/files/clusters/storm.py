"""A topology on a Storm cluster in a topology file."""

from collections.abc import Collection, Mapping
from typing import Annotated, Literal

from pydantic import Field

from forescale.files.bounded_numbers import Positive
from forescale.files.clusters.cluster_entry import ClusterEntry
from forescale.files.http_access import HttpAccess, address_of


class StormClusterEntry(HttpAccess, ClusterEntry):
    """Storm by its UI. topology: name under which it was submitted, by default this file's. operators: topology
    operator → component.

    wait_s: how long spouts pause before executors are moved; Storm's default is the message timeout. sample_s: span of
    the counters that calibration reads; Storm keeps 600, 10800 and 86400 s.
    """

    kind: Literal["storm"]
    url: Annotated[str, address_of("a Storm UI", "http://127.0.0.1:8080")]
    topology: Annotated[str, Field(min_length=1)] | None = None
    operators: Mapping[str, str] = {}
    wait_s: Annotated[int, Field(ge=0, le=3600)] = 30
    sample_s: Positive = 600

    def operators_named(self) -> Mapping[str, Collection[str]]:
        return {"operators": self.operators}
