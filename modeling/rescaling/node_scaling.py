"""Sustainable throughput of n nodes: it scales with the nodes and falls with the largest delay between them.

MST(n) = α·n^β − γ·ND_max(n): maximum sustainable throughput of n nodes, ND_max the largest network delay among those in
use. The model is GESSCALE's, for stream processing on geographically distributed nodes (fog).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from modeling.arrays import Flags, Floats
from modeling.errors import ModelError
from modeling.inputs.network import Network
from modeling.rescaling.recovery import check_numbers
from modeling.wording import count_of

LOW_DELAY_MS = 1.0
"""Nodes this close count as one site, whose throughput shows α and β without delay."""


@dataclass(frozen=True)
class MeasuredThroughput:
    """Maximum sustained throughput on some nodes. largest_delay_ms: among them, one way; 0 for one node."""

    nodes: int
    mst_per_s: float
    largest_delay_ms: float = 0.0

    def __post_init__(self) -> None:
        if isinstance(self.nodes, bool) or self.nodes != int(self.nodes) or self.nodes < 1:
            raise ModelError(f"measured throughput: nodes is {self.nodes}; give a whole number of at least 1")
        for name in ("mst_per_s", "largest_delay_ms"):
            check_numbers(f"measured throughput of {count_of(self.nodes, 'node')}", name, getattr(self, name))
        if self.mst_per_s == 0:
            raise ModelError(
                f"measured throughput of {count_of(self.nodes, 'node')}: mst_per_s is 0; leave out what did not run"
            )


@dataclass(frozen=True)
class NodeScaling:
    """α (tuples per second of one node), β (scaling exponent; 1 is linear) and γ (tuples per second lost per ms).

    covariance: of (α, β, γ), infinite on the diagonal if undetermined, zero for a value fixed by the stage of the fit
    (β = 1 up to two measurements). freedom: measurements less parameters.
    """

    alpha_per_s: float
    beta: float
    gamma_per_s_ms: float
    covariance: Floats
    freedom: int

    @property
    def errors(self) -> tuple[float, float, float]:
        """Standard errors of α, β and γ."""
        alpha, beta, gamma = np.sqrt(np.diagonal(self.covariance)).tolist()
        return alpha, beta, gamma

    def interval(self, level: float = 0.95) -> tuple[tuple[float, float], ...]:
        """Confidence intervals of α, β and γ at `level` for normal noise (Student's t)."""
        width = float(scipy.special.stdtrit(self.freedom, (1 + level) / 2)) if self.freedom > 0 else float("inf")
        values = (self.alpha_per_s, self.beta, self.gamma_per_s_ms)
        return tuple(
            (value - width * error, value + width * error) if error > 0 else (value, value)
            for value, error in zip(values, self.errors, strict=True)
        )

    def mst_per_s(self, nodes: npt.ArrayLike, largest_delay_ms: npt.ArrayLike = 0.0) -> Floats:
        """Sustainable throughput, broadcast; never below 0."""
        count, delay_ms = np.asarray(nodes, dtype=np.float64), np.asarray(largest_delay_ms, dtype=np.float64)
        check_numbers("node scaling", "nodes", count)
        check_numbers("node scaling", "largest_delay_ms", delay_ms)
        return np.maximum(0.0, self.alpha_per_s * count**self.beta - self.gamma_per_s_ms * delay_ms)


def fitted_node_scaling(measured: Sequence[MeasuredThroughput], *, low_delay_ms: float = LOW_DELAY_MS) -> NodeScaling:
    """α, β, γ by least squares, as many of them as the measurements determine.

    One measurement: α = MST/n, with β = 1 and γ = 0. Two: α·n − γ·ND. Three and more, in two stages: α and β from those
    with at most low_delay_ms, then γ from the others, alternating until they agree (a small delay in the first stage
    costs γ too). If the near ones have fewer than two different numbers of nodes, all three are fitted at once. Without
    far ones γ is 0 with infinite error, since such a fit has no information on delays.
    Standard errors are those of the estimating equations of both stages together, so that γ includes the errors of α
    and β. Assumes equal noise on all measurements, and that throughput falls in proportion to delay, equally for all
    operators, although a stateful join suffers more than a stateless map.
    Raises ModelError without measurements, and if the points cannot determine the parameters.
    """
    if not measured:
        raise ModelError(
            "node scaling: there are no measurements; measure the throughput of at least one number of nodes"
        )
    nodes = np.array([float(one.nodes) for one in measured])
    mst = np.array([one.mst_per_s for one in measured])
    delay_ms = np.array([one.largest_delay_ms for one in measured])
    every = np.ones(nodes.size, dtype=np.bool_)
    if len(measured) <= 2:
        return _fitted(nodes, mst, delay_ms, {0: every, 2: every} if nodes.size == 2 and delay_ms.any() else {0: every})
    if np.unique(nodes).size < 2:
        raise ModelError(
            f"node scaling: all {len(measured)} measurements used {int(nodes[0])} nodes, which does not show how "
            "throughput scales; measure another number of nodes"
        )
    near = delay_ms <= low_delay_ms
    if near.all():
        return _fitted(nodes, mst, delay_ms, {0: every, 1: every})
    if np.unique(nodes[near]).size >= 2:
        return _fitted(nodes, mst, delay_ms, {0: near, 1: near, 2: ~near})
    if np.unique(nodes).size == 2:
        _refuse_collinear(nodes, delay_ms)
    return _fitted(nodes, mst, delay_ms, {0: every, 1: every, 2: every})


def _fitted(nodes: Floats, mst: Floats, delay_ms: Floats, stages: Mapping[int, Flags]) -> NodeScaling:
    """Parameters that minimise the squares over the measurements of their stage, with errors.

    stages: measurements by index of each fitted parameter (α, β, γ); without them β is 1 and γ 0.
    Gauss-Newton steps from the straight line through the logarithms, limited to one half in β.
    """
    free, used = list(stages), np.column_stack(list(stages.values()))
    values = np.array([float(nodes @ mst / (nodes @ nodes)), 1.0, 0.0])
    if 1 in free:
        values[1], log_alpha = np.polyfit(np.log(nodes[stages[1]]), np.log(mst[stages[1]]), 1)
        values[0] = np.exp(log_alpha)
    for _ in range(200):
        power = nodes ** values[1]
        lacking = mst - (values[0] * power - values[2] * delay_ms)
        slope = np.column_stack([power, values[0] * power * np.log(nodes), -delay_ms])[:, free]
        lengths = np.linalg.norm(slope, axis=0)
        if not lengths.all() or np.linalg.cond(slope / lengths) > 1e8:
            _refuse_collinear(nodes, delay_ms)
        # Both stages together are the equations Σ w·(y − f) = 0, one per parameter: δθ = (wᵀ·slope)⁻¹ wᵀ δy.
        response = np.linalg.solve((slope * used).T @ slope, (slope * used).T)
        step = np.zeros(3)
        step[free] = response @ lacking
        step *= min(1.0, 0.5 / max(abs(step[1]), 1e-300))
        values += step
        if (np.abs(step) <= 1e-10 * (1e-6 + np.abs(values))).all():
            break
    alpha, beta, gamma = values.tolist()
    freedom, covariance = nodes.size - len(free), np.zeros((3, 3))
    covariance[2, 2] = np.inf
    if freedom == 0:
        covariance[free, free] = np.inf
        return NodeScaling(alpha, beta, gamma, covariance, 0)
    # A fit in stages does not minimise the squares: their expectation uses the trace, which is at least the freedom.
    left = np.eye(nodes.size) - slope @ response
    variance = float((lacking**2).sum()) / float((left**2).sum())
    covariance[np.ix_(free, free)] = variance * response @ response.T
    return NodeScaling(alpha, beta, gamma, covariance, freedom)


def _refuse_collinear(nodes: Floats, delay_ms: Floats) -> None:
    points = ", ".join(f"{int(n)} at {d:g} ms" for n, d in zip(nodes, delay_ms, strict=True))
    raise ModelError(
        f"node scaling: delay grows in step with the number of nodes ({points}), so its cost cannot be separated from "
        "that number's effect; measure one of these numbers of nodes with another delay"
    )


@dataclass(frozen=True)
class NodeChoice:
    """The choice of nodes. nodes: in the order in which they are added. mst_per_s: of these nodes.

    by_count: for 1, 2, … nodes the best set found. lowers: numbers of nodes that sustain less than one node fewer.
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


@dataclass(frozen=True)
class NodeSet:
    """Some nodes, the largest delay between two of them, and their sustainable throughput."""

    nodes: tuple[str, ...]
    largest_delay_ms: float
    mst_per_s: float


def best_nodes(scaling: NodeScaling, network: Network, among: Collection[str] | None = None) -> NodeChoice:
    """The nodes with the largest sustainable throughput; more are not always better, since a distant node lowers that
    of all. among: nodes of the network to choose from; all if absent.

    For every number of nodes, this tries the nearest ones around each node, and sets grown from each node by the one
    that adds least delay, instead of all subsets, whose number is exponential. Under the triangle inequality the
    largest delay found is at most twice the minimum. Ties go to the names that sort first, so the result does not
    depend on the order of nodes.
    """
    names = sorted(network.nodes if among is None else among)
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
