"""What n nodes sustain: throughput that scales with the nodes and suffers from the largest delay between them.

MST(n) = α·n^β − γ·ND_max(n): maximum sustainable throughput of n nodes, ND_max the largest network delay among those in
use. The model is GESSCALE's, for stream processing on geographically distributed nodes (fog).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from modeling.errors import ModelError
from modeling.inputs.network import Network
from modeling.rescaling.recovery import check_numbers

Floats = npt.NDArray[np.float64]

LOW_DELAY_MS = 1.0
"""Nodes this close count as one site: what they sustain shows α and β undisturbed."""


@dataclass(frozen=True)
class MeasuredThroughput:
    """The largest throughput that was sustained on some nodes. largest_delay_ms: among them, one way; 0 for one."""

    nodes: int
    mst_per_s: float
    largest_delay_ms: float = 0.0

    def __post_init__(self) -> None:
        if isinstance(self.nodes, bool) or self.nodes != int(self.nodes) or self.nodes < 1:
            raise ModelError(f"measured throughput: nodes is {self.nodes}; give a whole number of at least 1")
        for name in ("mst_per_s", "largest_delay_ms"):
            value = getattr(self, name)
            if not np.isfinite(value) or value < 0:
                raise ModelError(
                    f"measured throughput of {self.nodes} nodes: {name} is {value}; "
                    "measure it again, or give a finite number, not below 0"
                )
        if self.mst_per_s == 0:
            raise ModelError(f"measured throughput of {self.nodes} nodes: mst_per_s is 0; leave out what did not run")


@dataclass(frozen=True)
class NodeScaling:
    """α (tuples per second of one node), β (how nodes add up; 1 is linear) and γ (tuples per second lost per ms).

    covariance: of (α, β, γ), infinite on the diagonal where the measurements do not tell, zero where a value is fixed
    by the stage of the fit (β = 1 up to two measurements). noise_per_s: standard deviation of one measurement; NaN
    where there were no more measurements than parameters. freedom: measurements less parameters.
    """

    alpha_per_s: float
    beta: float
    gamma_per_s_ms: float
    covariance: Floats
    noise_per_s: float
    freedom: int

    @property
    def errors(self) -> tuple[float, float, float]:
        """Standard errors of α, β and γ."""
        alpha, beta, gamma = np.sqrt(np.diagonal(self.covariance)).tolist()
        return alpha, beta, gamma

    def interval(self, level: float = 0.95) -> tuple[tuple[float, float], ...]:
        """Of α, β and γ: what holds the truth with probability `level` where the noise is normal (Student's t)."""
        width = float(stdtrit(self.freedom, (1 + level) / 2)) if self.freedom > 0 else float("inf")
        values = (self.alpha_per_s, self.beta, self.gamma_per_s_ms)
        return tuple(
            (value - width * error, value + width * error) if error > 0 else (value, value)
            for value, error in zip(values, self.errors, strict=True)
        )

    def mst_per_s(self, nodes: npt.ArrayLike, largest_delay_ms: npt.ArrayLike = 0.0) -> Floats:
        """What so many nodes sustain, broadcast; never below 0."""
        count, delay_ms = np.asarray(nodes, dtype=np.float64), np.asarray(largest_delay_ms, dtype=np.float64)
        check_numbers("node scaling", "nodes", count)
        check_numbers("node scaling", "largest_delay_ms", delay_ms)
        return np.maximum(0.0, self.alpha_per_s * count**self.beta - self.gamma_per_s_ms * delay_ms)


def fitted_node_scaling(measured: Sequence[MeasuredThroughput], *, low_delay_ms: float = LOW_DELAY_MS) -> NodeScaling:
    """α, β, γ by least squares, as many of them as the measurements tell.

    One measurement: α = MST/n, with β = 1 and γ = 0. Two: α·n − γ·ND. Three and more, in two stages: α and β from those
    with at most low_delay_ms, then γ from the others, in turns until they agree (a small delay in the first stage costs
    γ too). Where the near ones have fewer than two numbers of nodes, all three are fitted at once. Without any far ones
    γ is 0 and its error infinite: of delays such a fit knows nothing.
    Standard errors are those of the estimating equations of both stages together, so that γ bears what α and β lack.
    Assumes noise of the same size on all measurements, and that throughput falls in proportion to delay, with all
    operators alike: a stateful join suffers more than a stateless map.
    Raises ModelError where nothing was measured and where the points cannot tell the parameters apart.
    """
    if not measured:
        raise ModelError("node scaling: nothing was measured; measure the throughput of at least one number of nodes")
    nodes = np.array([float(one.nodes) for one in measured])
    mst = np.array([one.mst_per_s for one in measured])
    delay_ms = np.array([one.largest_delay_ms for one in measured])
    near = delay_ms <= low_delay_ms
    if len(measured) == 1:
        return _scaling(mst[0] / nodes[0], 1.0, 0.0, np.diag([np.inf, 0.0, np.inf]), float("nan"), 0)
    if len(measured) == 2:
        return _linear(nodes, mst, delay_ms)
    if np.unique(nodes).size < 2:
        raise ModelError(
            f"node scaling: all {len(measured)} measurements used {int(nodes[0])} nodes, which tells nothing of how "
            "nodes add up; measure another number of nodes"
        )
    if near.all():
        return _near_only(nodes, mst)
    staged = np.unique(nodes[near]).size >= 2
    if np.unique(nodes).size == 2 and not staged:
        _refuse_collinear(nodes, delay_ms)
    first = near if staged else np.ones_like(near)
    later = ~near if staged else np.ones_like(near)
    return _both_stages(nodes, mst, delay_ms, first, later)


def _linear(nodes: Floats, mst: Floats, delay_ms: Floats) -> NodeScaling:
    if not delay_ms.any():
        alpha = float(nodes @ mst / (nodes @ nodes))
        noise = float(np.sqrt(((mst - alpha * nodes) ** 2).sum()))
        return _scaling(alpha, 1.0, 0.0, np.diag([noise**2 / float(nodes @ nodes), 0.0, np.inf]), noise, 1)
    terms = np.stack([nodes, -delay_ms], axis=-1)
    if _condition(terms) > 1e8:
        _refuse_collinear(nodes, delay_ms)
    alpha, gamma = np.linalg.solve(terms, mst).tolist()
    return _scaling(alpha, 1.0, gamma, np.diag([np.inf, 0.0, np.inf]), float("nan"), 0)


def _near_only(nodes: Floats, mst: Floats) -> NodeScaling:
    near = np.ones((nodes.size, 2), dtype=bool)
    (alpha, beta), slope = _solved(nodes, mst, np.zeros_like(nodes), near)
    freedom = nodes.size - 2
    variance = float(((mst - alpha * nodes**beta) ** 2).sum()) / freedom
    covariance = np.diag([0.0, 0.0, np.inf])
    covariance[:2, :2] = variance * np.linalg.inv(slope.T @ slope)
    return _scaling(alpha, beta, 0.0, covariance, variance**0.5, freedom)


def _both_stages(
    nodes: Floats, mst: Floats, delay_ms: Floats, first: npt.NDArray[np.bool_], later: npt.NDArray[np.bool_]
) -> NodeScaling:
    stages = np.column_stack([first, first, later])
    (alpha, beta, gamma), slope = _solved(nodes, mst, delay_ms, stages)
    # Both stages together are the equations Σ w·(y − f) = 0, one per parameter: δθ = (wᵀ·slope)⁻¹ wᵀ δy.
    weights = slope * stages
    response = np.linalg.solve(weights.T @ slope, weights.T)
    freedom = nodes.size - 3
    if freedom == 0:
        return _scaling(alpha, beta, gamma, np.diag([np.inf] * 3), float("nan"), 0)
    # Squares of a fit in stages are not the least: what noise leaves in them is the trace, no smaller than the freedom.
    left = np.eye(nodes.size) - slope @ response
    variance = float(((mst - (alpha * nodes**beta - gamma * delay_ms)) ** 2).sum()) / float((left**2).sum())
    return _scaling(alpha, beta, gamma, variance * response @ response.T, variance**0.5, freedom)


def _solved(nodes: Floats, mst: Floats, delay_ms: Floats, stages: npt.NDArray[np.bool_]) -> tuple[list[float], Floats]:
    """Parameters at which each one's squares are least over the measurements of its stage, and the slopes there.

    stages: shape (measurements, parameters); without a third column γ is 0. Gauss and Newton's steps from the straight
    line through the logarithms, at most half in β at once.
    """
    first = stages[:, 0]
    beta, log_alpha = np.polyfit(np.log(nodes[first]), np.log(mst[first]), 1).tolist()
    values = np.array([float(np.exp(log_alpha)), beta, 0.0])
    free = stages.shape[1]
    for _ in range(200):
        slope = np.column_stack([_slopes(values[0], values[1], nodes), -delay_ms])[:, :free]
        if _condition(slope) > 1e8:
            _refuse_collinear(nodes, delay_ms)
        weights = slope * stages
        lacking = mst - (values[0] * nodes ** values[1] - values[2] * delay_ms)
        step = np.linalg.solve(weights.T @ slope, weights.T @ lacking)
        step *= min(1.0, 0.5 / max(abs(float(step[1])), 1e-300))
        values[:free] += step
        if (np.abs(step) <= 1e-10 * (1e-6 + np.abs(values[:free]))).all():
            break
    slope = np.column_stack([_slopes(values[0], values[1], nodes), -delay_ms])[:, :free]
    return values[:free].tolist(), slope


def _slopes(alpha: float, beta: float, nodes: Floats) -> Floats:
    """Derivatives of α·n^β by α and β, shape (measurements, 2)."""
    return np.stack([nodes**beta, alpha * nodes**beta * np.log(nodes)], axis=-1)


def _condition(terms: Floats) -> float:
    lengths = np.sqrt((terms**2).sum(axis=0))
    return float(np.linalg.cond(terms / lengths)) if (lengths > 0).all() else float("inf")


def _refuse_collinear(nodes: Floats, delay_ms: Floats) -> None:
    points = ", ".join(f"{int(n)} at {d:g} ms" for n, d in zip(nodes, delay_ms, strict=True))
    raise ModelError(
        f"node scaling: delay grows in step with the number of nodes ({points}), so its cost cannot be told from how "
        "nodes add up; measure one of these numbers of nodes with another delay"
    )


def _scaling(
    alpha: float, beta: float, gamma: float, covariance: Floats, noise_per_s: float, freedom: int
) -> NodeScaling:
    return NodeScaling(float(alpha), float(beta), float(gamma), covariance, noise_per_s, freedom)


@dataclass(frozen=True)
class NodeChoice:
    """Which nodes to use. nodes: in the order in which they are added. mst_per_s: of them.

    by_count: for 1, 2, … nodes the best set found, its largest delay and what it sustains. lowers: numbers of nodes
    that sustain less than one node fewer.
    """

    nodes: tuple[str, ...]
    mst_per_s: float
    by_count: tuple["NodeSet", ...]

    @property
    def lowers(self) -> tuple[int, ...]:
        return tuple(
            len(more.nodes)
            for fewer, more in zip(self.by_count[:-1], self.by_count[1:], strict=True)
            if more.mst_per_s < fewer.mst_per_s
        )

    def fewest(self, load_per_s: float) -> "NodeSet | None":
        """The smallest set that sustains a load; None where no set does, however many nodes are added."""
        return next((chosen for chosen in self.by_count if chosen.mst_per_s >= load_per_s), None)


@dataclass(frozen=True)
class NodeSet:
    """Some nodes, the largest delay between two of them, and what they sustain."""

    nodes: tuple[str, ...]
    largest_delay_ms: float
    mst_per_s: float


def best_nodes(scaling: NodeScaling, network: Network) -> NodeChoice:
    """The nodes that sustain most; more nodes are not always better, as a far one lowers what all sustain.

    For every number of nodes, those nearest around each node are tried, and sets grown from each node by the one that
    adds least delay: not all subsets, whose number is exponential. With delays that obey the triangle inequality the
    largest delay found is at most twice the least possible. Ties go to the names that sort first, so the answer does
    not depend on the order of nodes.
    """
    names = sorted(network.nodes)
    at = network.of(names)
    delay_ms = network.delay_ms[np.ix_(at, at)]
    found: list[tuple[float, tuple[int, ...]]] = [(np.inf, ())] * len(names)
    for start in range(len(names)):
        for growing in (False, True):
            chosen, widest_ms = [start], 0.0
            reach_ms = delay_ms[start].copy()
            reach_ms[start] = np.inf
            found[0] = min(found[0], (0.0, (start,)))
            for count in range(1, len(names)):
                nearest = int(reach_ms.argmin())
                widest_ms = max(widest_ms, float(delay_ms[nearest, chosen].max()))
                chosen.append(nearest)
                reach_ms = np.maximum(reach_ms, delay_ms[nearest]) if growing else reach_ms
                reach_ms[nearest] = np.inf
                found[count] = min(found[count], (widest_ms, tuple(chosen)))
    sets = tuple(
        NodeSet(tuple(names[i] for i in members), widest_ms, float(scaling.mst_per_s(len(members), widest_ms)))
        for widest_ms, members in found
    )
    best = max(sets, key=lambda one: (one.mst_per_s, -len(one.nodes)))
    return NodeChoice(best.nodes, best.mst_per_s, sets)
