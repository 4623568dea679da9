"""Network coordinates: estimate unmeasured delays between nodes from measured ones (Vivaldi).

After Dabek, Cox, Kaashoek & Morris, "Vivaldi: A Decentralized Network Coordinate System" (SIGCOMM 2004). Every node
gets a position in a plane and a height, the delay of its access link. The delay between two nodes is the distance of
their positions plus both heights.
"""

from dataclasses import dataclass

import numpy as np

from modeling.arrays import Floats, Ints
from modeling.errors import ModelError

GAIN = 0.25
"""c_e and c_c of the paper: the weight of one sample for a node's error and position."""

FOLDS = 5
"""Folds of the cross-validation that estimates the error of unmeasured pairs."""


@dataclass(frozen=True)
class Coordinates:
    """Coordinates of nodes. position_ms: shape (nodes, dimensions). height_ms: shape (nodes,), not negative.

    relative_error: |estimate − measured| / measured of each measured pair. held_out_error: the same for pairs held out
    of the fit, the expected error of unmeasured pairs; empty if there are too few.
    """

    position_ms: Floats
    height_ms: Floats
    relative_error: Floats
    held_out_error: Floats

    @property
    def delay_ms(self) -> Floats:
        """Delay between every two nodes, shape (nodes, nodes), zero on the diagonal."""
        apart = self.position_ms[:, None] - self.position_ms[None, :]
        delays = np.sqrt((apart**2).sum(axis=-1)) + (self.height_ms[:, None] + self.height_ms[None, :])
        np.fill_diagonal(delays, 0.0)
        return np.asarray(delays, dtype=np.float64)


def vivaldi_coordinates(
    measured_ms: Floats, rng: np.random.Generator, *, dimensions: int = 2, rounds: int = 1500, starts: int = 8
) -> Coordinates:
    """Coordinates of all nodes, deterministic given `rng`. measured_ms: delays of pairs, symmetric, NaN if not
    measured, otherwise above 0 except on the diagonal; shape (nodes, nodes).

    In each round every node picks a random neighbour and moves as if a spring of the measured length were between them,
    the further the less certain its own position; all nodes move at once. Of `starts` random starts the one with the
    least error is kept, since springs can settle folded over.
    Assumes that delays nearly obey the triangle inequality; with detours (where no position is right) the reported
    error is large. Raises ModelError if the measured pairs form groups without a pair between them, whose distance is
    unknown.
    """
    nodes = len(measured_ms)
    pairs = np.argwhere(np.triu(~np.isnan(measured_ms), 1))
    delays_ms = measured_ms[tuple(pairs.T)]
    if (group := _reached(pairs)) != nodes:
        raise ModelError(
            f"network coordinates: the measured pairs connect only {group} of {nodes} nodes; "
            "measure a delay between the groups"
        )
    seeds = rng.spawn(FOLDS + 1)
    positions, heights = _settled(pairs, delays_ms, nodes, seeds[0], dimensions, rounds, starts)
    held_out: list[Floats] = []
    folds = rng.permutation(len(pairs)) % FOLDS
    for fold in range(FOLDS):
        kept = folds != fold
        if kept.all() or not kept.any() or _reached(pairs[kept]) != nodes:
            continue
        fitted = _settled(pairs[kept], delays_ms[kept], nodes, seeds[fold + 1], dimensions, rounds, starts)
        held_out.append(_relative_errors(*fitted, pairs[~kept], delays_ms[~kept]))
    errors = _relative_errors(positions, heights, pairs, delays_ms)
    return Coordinates(positions, heights, errors, np.concatenate(held_out) if held_out else np.array([]))


def _settled(
    pairs: Ints, delays_ms: Floats, nodes: int, rng: np.random.Generator, dimensions: int, rounds: int, starts: int
) -> tuple[Floats, Floats]:
    """Positions and heights after all rounds, from the start with the least error; all starts run at once."""
    neighbours, lengths_ms, counts = _neighbours(pairs, delays_ms, nodes)
    scale_ms = float(np.median(delays_ms))
    # Last axis: coordinates, then the height, a coordinate that always pushes up.
    at = np.concatenate(
        [rng.normal(scale=scale_ms, size=(starts, nodes, dimensions)), np.full((starts, nodes, 1), 0.1 * scale_ms)], -1
    )
    error = np.ones((starts, nodes))
    own, start = np.arange(nodes), np.arange(starts)[:, None]
    for turn in range(rounds):
        chosen = (rng.random((starts, nodes)) * counts).astype(np.int64)
        other, wanted_ms = neighbours[own, chosen], lengths_ms[own, chosen]
        apart = at - at[start, other]
        apart[..., -1] = at[..., -1] + at[start, other, -1]
        distance_ms = np.sqrt((apart[..., :-1] ** 2).sum(-1)) + apart[..., -1]
        trust = error / (error + error[start, other])
        sample_error = np.abs(distance_ms - wanted_ms) / wanted_ms
        error = np.clip(sample_error * GAIN * trust + error * (1 - GAIN * trust), 1e-6, 1.0)
        # In the last third moves shrink, so that contradictory measurements settle at their mean.
        gain = GAIN * min(1.0, 3 * (1 - turn / rounds))
        at = at + (gain * trust * (wanted_ms - distance_ms) / np.maximum(distance_ms, 1e-9))[..., None] * apart
        at[..., -1] = np.maximum(at[..., -1], 0.0)
    misfit = [
        float(np.mean(_relative_errors(at[k, :, :-1], at[k, :, -1], pairs, delays_ms) ** 2)) for k in range(starts)
    ]
    best = int(np.argmin(misfit))
    return at[best, :, :-1], at[best, :, -1]


def _neighbours(pairs: Ints, delays_ms: Floats, nodes: int) -> tuple[Ints, Floats, Ints]:
    """Per node its measured neighbours and their delays, padded to equal length, and their number."""
    ends = np.concatenate([pairs, pairs[:, ::-1]])
    lengths_ms = np.concatenate([delays_ms, delays_ms])
    counts = np.bincount(ends[:, 0], minlength=nodes)
    by_node = np.argsort(ends[:, 0], kind="stable")
    slot = np.arange(by_node.size) - np.repeat(np.cumsum(counts) - counts, counts)
    others = np.zeros((nodes, int(counts.max())), dtype=np.int64)
    delays = np.ones((nodes, int(counts.max())))
    others[ends[by_node, 0], slot] = ends[by_node, 1]
    delays[ends[by_node, 0], slot] = lengths_ms[by_node]
    return others, delays, counts.astype(np.int64)


def _relative_errors(positions: Floats, heights: Floats, pairs: Ints, delays_ms: Floats) -> Floats:
    apart = positions[pairs[:, 0]] - positions[pairs[:, 1]]
    estimate_ms = np.sqrt((apart**2).sum(-1)) + heights[pairs[:, 0]] + heights[pairs[:, 1]]
    return np.asarray(np.abs(estimate_ms - delays_ms) / delays_ms, dtype=np.float64)


def _reached(pairs: Ints) -> int:
    """Number of nodes connected to the first pair."""
    import networkx as nx

    return len(nx.node_connected_component(nx.Graph(pairs.tolist()), int(pairs[0, 0])))
