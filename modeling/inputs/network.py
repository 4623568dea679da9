"""The network between nodes: delay, jitter and bandwidth of every pair, measured or estimated."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from modeling.arrays import Flags, Floats, Ints
from modeling.errors import ModelError
from modeling.inputs.vivaldi import vivaldi_coordinates


@dataclass(frozen=True)
class MeasuredLink:
    """Measurements between two nodes; equal in both directions.

    delay_ms: one way (half a round trip). jitter_ms: standard deviation of the delay; None if not measured.
    bandwidth_mbit_per_s: None if not measured.
    """

    first: str
    second: str
    delay_ms: float
    jitter_ms: float | None = None
    bandwidth_mbit_per_s: float | None = None

    def __post_init__(self) -> None:
        where = f"link between {self.first!r} and {self.second!r}"
        if self.first == self.second:
            raise ModelError(f"{where}: a node has no delay to itself; give two nodes")
        if not np.isfinite(self.delay_ms) or self.delay_ms <= 0:
            raise ModelError(f"{where}: delay_ms is {self.delay_ms}; give finite milliseconds above 0, or leave it out")
        if self.jitter_ms is not None and not (np.isfinite(self.jitter_ms) and self.jitter_ms >= 0):
            raise ModelError(f"{where}: jitter_ms is {self.jitter_ms}; give finite milliseconds, not below 0, or None")
        bandwidth = self.bandwidth_mbit_per_s
        if bandwidth is not None and not (np.isfinite(bandwidth) and bandwidth > 0):
            raise ModelError(f"{where}: bandwidth_mbit_per_s is {bandwidth}; give a finite rate above 0, or None")


@dataclass(frozen=True)
class Network:
    """Every matrix has shape (nodes, nodes), is symmetric, and follows the order of `nodes`.

    delay_ms and jitter_ms are 0 from a node to itself, bandwidth_mbit_per_s infinite there. estimated: True for pairs
    whose delay was not measured. estimate_error: their expected median relative error; 0 if all were measured, infinite
    if unknown.
    """

    nodes: tuple[str, ...]
    delay_ms: Floats
    jitter_ms: Floats
    bandwidth_mbit_per_s: Floats
    estimated: Flags
    estimate_error: float = 0.0

    def __post_init__(self) -> None:
        if len(set(self.nodes)) != len(self.nodes) or not self.nodes:
            raise ModelError(f"network: nodes {', '.join(self.nodes) or '(none)'}; give each node a name of its own")
        shape = (len(self.nodes), len(self.nodes))
        for name in ("delay_ms", "jitter_ms", "bandwidth_mbit_per_s", "estimated"):
            matrix = getattr(self, name)
            if matrix.shape != shape:
                raise ModelError(f"network: {name} has shape {matrix.shape}; {len(self.nodes)} nodes need {shape}")
            if np.isnan(matrix).any() or (matrix < 0).any():
                raise ModelError(f"network: {name} holds a negative number or NaN; measure that pair again")
            if (matrix != matrix.T).any():
                raise ModelError(f"network: {name} differs by direction; give the mean of both")

    @cached_property
    def index(self) -> dict[str, int]:
        return {node: i for i, node in enumerate(self.nodes)}

    def lacking(self, nodes: Iterable[str]) -> list[str]:
        """Those of `nodes` that the network does not know, sorted."""
        return sorted(set(nodes) - set(self.nodes))

    def of(self, nodes: Sequence[str]) -> Ints:
        """Positions of nodes in the matrices. Raises ModelError for an unknown one."""
        if unknown := self.lacking(nodes):
            raise ModelError(
                f"network has no node {unknown[0]!r}; known are {', '.join(self.nodes)}: add a link to it, or correct "
                "the node"
            )
        return np.array([self.index[node] for node in nodes], dtype=np.int64)


def measured_network(links: Sequence[MeasuredLink], rng: np.random.Generator) -> Network:
    """A network of all nodes named in `links`, with estimates for unmeasured pairs.

    A pair measured several times gets the median. Delays are estimated by network coordinates
    (`modeling.inputs.vivaldi`), jitter and bandwidth as properties of a node's access link: a pair has the jitter of
    its worse node (median of its measurements) and the best bandwidth of its slower node. For a node without
    measurements, the worst value of all nodes is used; without any measurement, jitter is 0 and bandwidth infinite,
    which is too optimistic. Deterministic given `rng`, in any order of links.
    """
    nodes = tuple(sorted({name for link in links for name in (link.first, link.second)}))
    size = len(nodes)
    if not nodes:
        raise ModelError("network: no link was measured; measure between at least two nodes")
    index = {node: i for i, node in enumerate(nodes)}
    at = [(index[link.first], index[link.second]) for link in links]
    delay = _medians(size, at, [link.delay_ms for link in links])
    jitter = _medians(size, at, [link.jitter_ms for link in links])
    bandwidth = _medians(size, at, [link.bandwidth_mbit_per_s for link in links])
    missing = np.isnan(delay)
    np.fill_diagonal(missing, False)
    error = 0.0
    if missing.any():
        coordinates = vivaldi_coordinates(delay, rng)
        delay = np.where(missing, coordinates.delay_ms, delay)
        error = float(np.median(coordinates.held_out_error)) if coordinates.held_out_error.size else float("inf")
    usual_jitter = _per_node(jitter, np.median, worst=np.max, default=0.0)
    best_bandwidth = _per_node(bandwidth, np.max, worst=np.min, default=np.inf)
    jitter = np.where(np.isnan(jitter), np.maximum.outer(usual_jitter, usual_jitter), jitter)
    bandwidth = np.where(np.isnan(bandwidth), np.minimum.outer(best_bandwidth, best_bandwidth), bandwidth)
    np.fill_diagonal(delay, 0.0)
    np.fill_diagonal(jitter, 0.0)
    np.fill_diagonal(bandwidth, np.inf)
    return Network(nodes, delay, jitter, bandwidth, missing, error)


def _medians(size: int, at: Sequence[tuple[int, int]], values: Sequence[float | None]) -> Floats:
    """Symmetric matrix of the medians per pair; NaN if not measured."""
    by_pair: dict[tuple[int, int], list[float]] = {}
    for (i, j), value in zip(at, values, strict=True):
        if value is not None:
            by_pair.setdefault((min(i, j), max(i, j)), []).append(value)
    matrix = np.full((size, size), np.nan)
    for (i, j), found in by_pair.items():
        matrix[i, j] = matrix[j, i] = float(np.median(found))
    return matrix


def _per_node(
    matrix: Floats, of_node: Callable[[Floats], np.float64], *, worst: Callable[[Floats], np.float64], default: float
) -> Floats:
    known = matrix[~np.isnan(matrix)]
    fallback = float(worst(known)) if known.size else default
    rows = [row[~np.isnan(row)] for row in matrix]
    return np.array([float(of_node(row)) if row.size else fallback for row in rows])
