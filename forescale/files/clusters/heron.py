"""A topology on a Heron cluster in a topology file."""

from collections.abc import Collection, Mapping
from typing import Annotated, Literal

from pydantic import Field

from forescale.files.bounded_numbers import AllInstances, Positive
from forescale.files.clusters.cluster_entry import ClusterEntry
from forescale.files.http_access import HttpAccess, address_of

Name = Annotated[str, Field(min_length=1)]


class HeronClusterEntry(HttpAccess, ClusterEntry):
    """Heron by its tracker (url) and the locally installed client. cluster, role, environ, topology: as given to
    `heron submit`; topology is this file's by default. operators: topology operator → component.

    client: how its command line begins. max_containers: containers that the scheduler has room for. sample_s: span of
    the counters that calibration reads.
    """

    kind: Literal["heron"]
    url: Annotated[str, address_of("a Heron tracker", "http://127.0.0.1:8888")]
    cluster: Name
    environ: Name
    role: Name | None = None
    topology: Name | None = None
    operators: Mapping[str, str] = {}
    client: Annotated[tuple[Name, ...], Field(min_length=1)] = ("heron",)
    max_containers: AllInstances | None = None
    sample_s: Positive = 600

    def operators_named(self) -> Mapping[str, Collection[str]]:
        return {"operators": self.operators}
