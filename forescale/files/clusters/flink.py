"""A job on a Flink cluster in a topology file."""

from collections.abc import Collection, Mapping
from typing import Literal

from pydantic import field_validator

from forescale.files.arrivals_section import Positive
from forescale.files.clusters.cluster_entry import ClusterEntry, http_address


class FlinkEntry(ClusterEntry):
    """A Flink session cluster over REST. job: name of the running job; operators: topology operator → vertex name.

    sample_s: over how many seconds its metrics are read for calibration.
    """

    kind: Literal["flink"]
    url: str
    job: str
    operators: Mapping[str, str] = {}
    sample_s: Positive = 30

    @field_validator("url")
    @classmethod
    def _is_an_address(cls, url: str) -> str:
        return http_address(url, "a job manager", "http://127.0.0.1:8081")

    def operators_named(self) -> Mapping[str, Collection[str]]:
        return {"operators": self.operators}
