"""The cost of a placement on unequal nodes: tuples in transit between nodes and in service on them."""

import numpy as np

from modeling.arrays import Flags, Floats, Ints
from planner.packing.offer import Offer
from planner.packing.traffic import BITS, traffic_matrix
from planner.packing.workload import Workload

BITS_PER_MBIT = 1e6
MIN_GAIN = 1e-9
"""Smaller gains, in tuples and as a share of an instance's cost, change nothing."""

MS_PER_S = 1000.0


class Transit:
    """The placement of instances and its cost, for the duration of one call of a packer.

    The cost of an instance on a node is the mean number of its tuples in service or in transit (Little 1961): its CPU
    seconds per second times the node's factor, and for each node that it exchanges tuples with, their rate times the
    delay, plus the share of the link that they take up. Nodes are numbered as in `nodes`.
    """

    def __init__(self, offer: Offer, work: Workload) -> None:
        """Raises ModelError for a node that the network does not have."""
        self.nodes = sorted(offer.nodes)
        size, count = len(work.instances), len(self.nodes)
        self._delay_s, self._bits_per_s = np.zeros((count, count)), np.full((count, count), np.inf)
        if offer.site.network is not None:
            at = offer.site.network.of(self.nodes)
            self._delay_s = offer.site.network.delay_ms[np.ix_(at, at)] / MS_PER_S
            self._bits_per_s = offer.site.network.bandwidth_mbit_per_s[np.ix_(at, at)] * BITS_PER_MBIT
        sent = traffic_matrix(work, {})
        self._exchanged = sent + sent.T
        self._sent_bits = traffic_matrix(work, offer.site.bytes_per_tuple, 0.0) * BITS
        self._sends_bits = bool(self._sent_bits.any())
        self._received_bits = np.ascontiguousarray(self._sent_bits.T)
        factors = np.array([offer.factor(node) for node in self.nodes])
        self._cost = factors[:, None] * work.sizes[:, 0]
        self._number = np.full(size, -1, dtype=np.int64)
        # Bits per second from each instance to each node and back, and between nodes.
        self._to, self._from, self._used = np.zeros((count, size)), np.zeros((count, size)), np.zeros((count, count))

    def cost(self, position: int) -> Floats:
        """Of an instance on each node, wherever it is."""
        return np.asarray(self._cost[:, position])

    def swap_gains(self, position: int, partners: Ints) -> Floats:
        """Reduction of tuples in transit and in service if the instance swaps with each partner, shape (partners,); 0
        on the same node. The traffic between the two still crosses afterwards (Kernighan and Lin 1970).
        """
        here, there = self.node_of(position), self._number[partners]
        own, bits = self.cost(position), self._sent_bits[position] + self._received_bits[position]
        between = self._exchanged[position, partners] * self._delay_s[here, there]
        between += bits[partners] / self._bits_per_s[here, there]
        gains = own[here] - own[there] + self._cost[there, partners] - self._cost[here, partners] - 2 * between
        return np.asarray(np.where(there == here, 0.0, gains))

    def worth_swapping(self, positions: Ints) -> list[int]:
        """Those of these instances that could gain jointly with another one, by decreasing gain.

        An upper bound: traffic in bits between the two is assumed not to cross any more.
        """
        at = self._number[positions]
        here = self._cost[at, positions]
        there = self._cost[:, positions].T[:, at]
        apart = np.ix_(at, at)
        each = np.ix_(positions, positions)
        gains = here[:, None] + here - there - there.T - 2 * self._exchanged[each] * self._delay_s[apart]
        gains[at[:, None] == at] = 0.0
        best = gains.max(axis=1, initial=0.0)
        order = np.argsort(-best, kind="stable")
        return [int(positions[number]) for number in order if best[number] > MIN_GAIN]

    def carried(self, position: int) -> Flags:
        """For an unplaced instance, the nodes on which it overloads no link."""
        if not self._sends_bits:
            return np.ones(len(self.nodes), dtype=np.bool_)
        there = (self._used + self._to[:, position] <= self._bits_per_s).all(axis=1)
        back = (self._used.T + self._from[:, position] <= self._bits_per_s).all(axis=1)
        return np.asarray(there & back)

    def overloaded(self) -> tuple[str, str, float, float] | None:
        """The most overloaded link: from, to, traffic in Mbit/s, and bandwidth in Mbit/s."""
        beyond = np.where(np.isfinite(self._bits_per_s), self._used / self._bits_per_s, 0.0)
        start, end = np.unravel_index(int(beyond.argmax()), beyond.shape)
        if beyond[start, end] <= 1 + MIN_GAIN:
            return None
        crossing, has = self._used[start, end] / BITS_PER_MBIT, self._bits_per_s[start, end] / BITS_PER_MBIT
        return self.nodes[start], self.nodes[end], float(crossing), float(has)

    def node_of(self, position: int) -> int:
        return int(self._number[position])

    def put(self, position: int, node: int) -> None:
        self._add(position, node, 1.0)
        self._number[position] = node

    def take(self, position: int) -> None:
        self._add(position, self.node_of(position), -1.0)
        self._number[position] = -1

    def _add(self, position: int, node: int, sign: float) -> None:
        sent, received = self._sent_bits[position], self._received_bits[position]
        self._used[node] += sign * self._to[:, position]
        self._used[:, node] += sign * self._from[:, position]
        self._used[node, node] = 0.0
        self._to[node] += sign * received
        self._from[node] += sign * sent
        self._cost += (sign * self._delay_s[:, node])[:, None] * self._exchanged[position]
        if self._sends_bits:
            self._cost += (sign / self._bits_per_s[:, node])[:, None] * (sent + received)
