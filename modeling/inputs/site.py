"""The site: container sizes, speed of nodes, and the network between them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from modeling.errors import ModelError
from modeling.inputs.network import Network


@dataclass(frozen=True)
class ContainerSize:
    """Resources of one container; None if unbounded."""

    cores: float | None = None
    memory_mib: float | None = None

    def __post_init__(self) -> None:
        for name in ("cores", "memory_mib"):
            value = getattr(self, name)
            if value is not None and not (np.isfinite(value) and value > 0):
                raise ModelError(
                    f"size of a container: {name} is {value}; give a finite number above 0, or leave it out"
                )


@dataclass(frozen=True)
class Site:
    """Where plans run. All fields are optional; an omitted one adds no cost.

    container: size of every container. service_factor: per node, service time relative to where it was measured; 1 for
    unnamed nodes. network: between nodes. bytes_per_tuple: per stream name, serialised. buffer_timeout_s: after which a
    partly filled buffer is sent (Flink: execution.buffer-timeout). serialisation_s: per stream name, to write and read
    one tuple, if not included in measured service times. card_mbit_per_s: of a node's network card, each way, shared by
    all its links; unlimited for unnamed nodes.
    """

    container: ContainerSize = ContainerSize()
    service_factor: Mapping[str, float] = field(default_factory=dict)
    network: Network | None = None
    bytes_per_tuple: Mapping[str, float] = field(default_factory=dict)
    buffer_timeout_s: float = 0.0
    serialisation_s: Mapping[str, float] = field(default_factory=dict)
    card_mbit_per_s: Mapping[str, float] = field(default_factory=dict)

    def with_cores(self, cores: float) -> "Site":
        """The same with that many cores in every container."""
        return replace(self, container=replace(self.container, cores=cores))

    def __post_init__(self) -> None:
        for node, factor in self.service_factor.items():
            if not (np.isfinite(factor) and factor > 0):
                raise ModelError(f"service factor {factor} of node {node!r}; give a finite number above 0")
        for node, mbit in self.card_mbit_per_s.items():
            if not (np.isfinite(mbit) and mbit > 0):
                raise ModelError(f"network card of node {node!r}: {mbit} Mbit/s; give a finite number above 0")
        for what, of in (("bytes_per_tuple", self.bytes_per_tuple), ("serialisation_s", self.serialisation_s)):
            for stream, value in of.items():
                if not (np.isfinite(value) and value >= 0):
                    raise ModelError(f"site: {what} {value} of stream {stream}; give a finite number, not below 0")
        if not (np.isfinite(self.buffer_timeout_s) and self.buffer_timeout_s >= 0):
            raise ModelError(f"site: buffer_timeout_s {self.buffer_timeout_s}; give finite seconds, not below 0")


NOWHERE = Site()
"""Nothing is known about where plans run."""
