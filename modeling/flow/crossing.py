"""Crossings: the parts of a stream that go from node to node, under the packings of many plans."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from modeling.arrays import Floats, Ints
from modeling.flow.rates import KnownRouting, OperatorFlow, StreamOutput
from modeling.flow.routing import POINTWISE
from modeling.inputs.placed import Placed
from modeling.inputs.topology import Stream


@dataclass(frozen=True)
class Crossing:
    """One stream. given: output of its sender. part: share of each given term's tuples from node to node, shape (plans,
    terms, nodes, nodes), rows send; it sums to 1, or to 0 in plans without known nodes.
    """

    given: StreamOutput
    part: Floats

    def term_per_s(self) -> Floats:
        """Rate of each given term, shape (plans or 1, terms, scenarios)."""
        every = self.given.term_per_s
        return every if every.shape[0] == 1 else np.asarray(every[self.given.row])

    def mean(self, of_pair: Floats) -> Floats:
        """Mean over tuples of a quantity of node pairs, shape (plans, scenarios or 1). of_pair: (nodes, nodes)."""
        of_term: Floats = np.einsum("ptnm,nm->pt", self.part, of_pair)
        if of_term.shape[1] == 1:
            return of_term
        rates = self.term_per_s()
        total = rates.sum(axis=1)
        weight = np.where(total[:, None] > 0, rates / np.where(total > 0, total, 1.0)[:, None], 1 / rates.shape[1])
        return np.asarray((of_term[:, :, None] * weight).sum(axis=1))

    def of_first_plan(self) -> Floats:
        """Share of its tuples from node to node under the first scenario, shape (nodes, nodes)."""
        if self.part.shape[1] == 1:
            return np.asarray(self.part[0, 0])
        rates = self.term_per_s()[0, :, 0]
        weight = rates / rates.sum() if rates.sum() > 0 else np.full(rates.size, 1 / rates.size)
        return np.asarray(np.einsum("t,tnm->nm", weight, self.part[0]))


def crossing(
    stream: Stream, plans: Placed, senders: Mapping[str, StreamOutput], reader: OperatorFlow, known: KnownRouting
) -> Crossing:
    """The crossing of plans with known nodes. An ALL stream counts per copy. senders: output by stream."""
    given, nodes = senders[stream.name], len(plans.nodes)
    up, down = plans.node[stream.upstream], plans.node[stream.downstream]
    plans_count, terms = up.shape[0], given.shares.shape[1]
    if stream.grouping in POINTWISE:
        part = np.zeros((plans_count, terms, nodes, nodes))
        for plan in range(plans_count):
            if up[plan, 0] < 0:
                continue
            routed = known.of(stream, plans, plan).shares
            first, second = np.nonzero(routed)
            place = up[plan, first] * nodes + down[plan, second]
            for term, shares in enumerate(given.shares[given.row[plan]]):
                weights = shares[first] * routed[first, second]
                part[plan, term] = np.bincount(place, weights, nodes * nodes).reshape(nodes, nodes)
        return Crossing(given, part)
    # One term, since all output of an instance is routed in the same way.
    at = reader.streams.index(stream.name)
    received = reader.shares[:, at] / reader.shares[:, at].sum(axis=1, keepdims=True)
    to = by_place(received[reader.row][:, None], down, nodes)[:, 0]
    of = by_place(given.shares[given.row], up, nodes)
    return Crossing(given, of[:, :, :, None] * to[:, None, None, :])


def by_place(shares: Floats, place: Ints, places: int) -> Floats:
    """Shares of instances, shape (plans, terms, instances), summed by place: (plans, terms, places).

    place: shape (plans, instances), -1 for nowhere.
    """
    plans, terms, most = shares.shape
    where = np.arange(plans)[:, None] * (places + 1) + np.where(place[:, :most] < 0, places, place[:, :most])
    found = [np.bincount(where.ravel(), shares[:, at].ravel(), plans * (places + 1)) for at in range(terms)]
    return np.stack([each.reshape(plans, places + 1)[:, :places] for each in found], axis=1)
