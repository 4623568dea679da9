"""Rates: the spread of offered loads through a topology, for many plans under many scenarios, by operator.

The only recursion of rates. The input of instances is a sum of terms. A term is a flow in tuples per second of which
every instance has a fixed share: a stream is one term, or under pointwise groupings one per upstream term whose
instances have different shares. Shares depend only on the plan and rates hardly on it, so plans in which an operator
has equal input share one row. Utilisation, containers and links are weighted sums of the same terms.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from modeling.arrays import Floats, Ints, numbered
from modeling.flow.kinds import Kinds, kinds_of
from modeling.flow.routing import POINTWISE, Routing, partition_shares, routing
from modeling.flow.scenarios import Scenarios
from modeling.inputs.operator_profile import OperatorProfile, Profiles
from modeling.inputs.placed import Placed
from modeling.inputs.topology import Grouping, Stream, Topology
from modeling.inputs.windowed_output import WindowedOutput


@dataclass(frozen=True)
class ByPlan:
    """Rows shared by several plans: rows[of[plan]] is a plan's, with one entry per scenario."""

    of: Ints
    rows: Floats

    def every(self) -> Floats:
        """Shape (plans, scenarios), or (1, scenarios) if all plans have the same row."""
        return self.rows if self.rows.shape[0] == 1 else self.rows[self.of]


@dataclass(frozen=True)
class StreamOutput:
    """The output of an operator on one stream.

    per_s: total rate of all instances before copying (an ALL stream counts once). row: of each plan in the other
    fields. term_per_s: shape (rows, terms, scenarios), summing to per_s. shares: of each term by sending instance,
    shape (rows, terms, most instances), summing to 1.
    """

    per_s: ByPlan
    row: Ints
    term_per_s: Floats
    shares: Floats


@dataclass(frozen=True)
class OperatorFlow:
    """One operator in all plans under all scenarios.

    row: of each plan. parallelism: shape (rows,). streams: input stream of each term, "" at a source. term_per_s: of
    each term before routing, shape (rows, terms, scenarios). shares: of a term by instance, shape (rows, terms, most
    instances), 0 for absent instances; under ALL every instance gets the whole. service_s: seconds per tuple on nodes
    of the measured speed, or until a call is free if that is longer, shape (rows, terms, scenarios or 1).
    service_factor: of each instance's node, shape (rows, most instances); None if all are 1. cv2: of service times
    within a stream, shape (scenarios or 1,). cpu_s: CPU seconds per tuple, shape (terms, scenarios or 1), None if not
    measured. poll_s: minimum seconds per tuple at a source that polls. bounds: streams with unknown keys or key
    assignment in some plan, so that the busiest instance is only bounded. given: by output stream. core_wait_s: seconds
    per tuple that an instance waits for a core, shape (rows, most instances, scenarios), for latencies alone: what gets
    through is bounded by the cores of containers. None if none is known. core_wait_beside_s: likewise, the part for
    which nobody queues, as calls bound the instance. own_s: of service_s, what is spent working and not for calls to
    end; None if there are no calls. partners: of streams that prefer a container, if any plan has a packing: from how
    many instances a tuple's reader takes, and to how many its sender gives, shape (rows,) each; all of them without a
    packing.
    """

    profile: OperatorProfile
    row: Ints
    parallelism: Ints
    streams: tuple[str, ...]
    term_per_s: Floats
    shares: Floats
    copies: Floats
    service_s: Floats
    service_factor: Floats | None
    cv2: Floats
    cpu_s: Floats | None
    poll_s: float
    bounds: tuple[str, ...]
    given: Mapping[str, StreamOutput]
    core_wait_s: Floats | None = None
    core_wait_beside_s: Floats | None = None
    own_s: Floats | None = None
    partners: Mapping[str, tuple[Floats, Floats]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.profile.operator

    @cached_property
    def stream_per_s(self) -> dict[str, Floats]:
        """Rates by input stream before routing, shape (rows, scenarios)."""
        found: dict[str, Floats] = {}
        for at, stream in enumerate(self.streams):
            found[stream] = found[stream] + self.term_per_s[:, at] if stream in found else self.term_per_s[:, at]
        return found

    @cached_property
    def entering_per_s(self) -> Floats:
        """Total tuples into all instances, shape (rows, scenarios)."""
        return np.asarray((self.term_per_s * self.copies[:, :, None]).sum(axis=1))

    @cached_property
    def idle_service_s(self) -> Floats:
        """Seconds per tuple of unknown stream, shape (rows, scenarios or 1)."""
        return np.asarray(self.service_s.mean(axis=1))

    @property
    def one_service(self) -> bool:
        """Whether all tuples take equally long, whatever their stream and instance."""
        return self.service_factor is None and self.core_wait_s is None and not self.profile.stream_service_s

    def instance_per_s(self) -> Floats:
        """Tuples into each instance, shape (rows, instances, scenarios)."""
        return _spread(self.shares, self.term_per_s)

    def worked_s(self) -> Floats:
        """Seconds that each instance is busy in a second, shape (rows, instances, scenarios)."""
        return _spread(self.slowed, self.term_per_s * self.service_s)

    @property
    def working_s(self) -> Floats:
        """Seconds per tuple that an instance works, likewise shape (rows, terms, scenarios or 1)."""
        return self.service_s if self.own_s is None else self.own_s

    @property
    def cpu_per_s(self) -> Floats:
        """CPU seconds per second of each term on nodes of the measured speed, shape (rows, terms, scenarios).

        A tuple's CPU grows with its node's factor, not with the parallelism: instances waiting for each other do not
        compute. If not measured, the time of work is used: more than the CPU if the instance waits meanwhile, less if
        further threads compute.
        """
        return self.term_per_s * (self.working_s if self.cpu_s is None else self.cpu_s)

    def cores(self) -> Floats:
        """Cores used by each instance for its tuples, shape (rows, instances, scenarios)."""
        return _spread(self.slowed, self.cpu_per_s)

    def idle_cores(self) -> Floats:
        """Cores used by each instance beside that, at any rate, shape (rows, instances); 0 for absent instances."""
        return self.profile.idle_cores * self.node_factors()

    def node_factors(self) -> Floats:
        """Factor by which each instance's node is slower, shape (rows, instances); 0 for absent instances."""
        present = np.arange(self.shares.shape[2]) < self.parallelism[:, None]
        return np.asarray(present * (1.0 if self.service_factor is None else self.service_factor))

    def busy(self) -> Floats:
        """Utilisation of each instance, shape (rows, instances, scenarios); above 1 it is overloaded.

        Busy seconds per second or, for a polling source, the used share of its polling capacity.
        """
        used = self.worked_s()
        return np.maximum(used, self.instance_per_s() * self.poll_s) if self.poll_s else used

    @cached_property
    def busiest(self) -> Floats:
        """Utilisation of the busiest instance, shape (rows, scenarios)."""
        if len(self.streams) > 1:
            return np.asarray(self.busy().max(axis=1))
        used = self.slowed.max(axis=2) * (self.term_per_s * self.service_s)[:, 0]
        if self.poll_s:
            used = np.maximum(used, self.shares.max(axis=2) * self.term_per_s[:, 0] * self.poll_s)
        return np.asarray(used)

    def kinds(self, alike: float) -> Kinds:
        """The distinct instances; those that differ by at most the share `alike` count as one kind."""
        stretch = None
        if self.core_wait_s is not None:
            # Where it is longest; instances that differ then differ under any load.
            stretch = 1 + self.core_wait_s.max(axis=2) / max(float(self.service_s.max()), 1e-300)
        return kinds_of(self.shares, self.service_factor, self.parallelism, alike, stretch)

    @property
    def slowed(self) -> Floats:
        """Each instance's share of a term, times the service factor of its node."""
        return self.shares if self.service_factor is None else self.shares * self.service_factor[:, None]


def operator_flows(
    topology: Topology, profiles: Profiles, plans: Placed, scenarios: Scenarios, known: "KnownRouting"
) -> Iterator[OperatorFlow]:
    """λ(out) = selectivity · λ(in), summed over inputs, in topological order, so that all input of an operator is known
    before it is computed. Plans and profiles must fit the topology.
    """
    given: dict[str, StreamOutput] = {}
    for name in topology.order:
        flow = _operator_flow(topology, profiles[name], plans, scenarios, known, given)
        given |= flow.given
        yield flow


def _operator_flow(
    topology: Topology,
    profile: OperatorProfile,
    plans: Placed,
    scenarios: Scenarios,
    known: "KnownRouting",
    given: Mapping[str, StreamOutput],
) -> OperatorFlow:
    name, parameters = profile.operator, scenarios.parameters
    streams, parallelism = topology.inputs(name), plans.parallelism[name]
    deciding = [parallelism]
    for stream in streams:
        before = given[stream.name]
        deciding.append(before.row if stream.grouping in POINTWISE else before.per_s.of)
        if stream.grouping is Grouping.LOCAL_OR_SHUFFLE and plans.container:
            deciding += [numbered(list(plans.container[end])) for end in (stream.upstream, name)]
    if name in plans.service_factor:
        deciding.append(numbered(list(plans.service_factor[name])))
    first, row = rows_of(deciding)
    counts = parallelism[first]
    most = int(counts.max())
    terms: list[str] = []
    rates: list[Floats] = []
    shares: list[Floats] = []
    bounds: list[str] = []
    partners: dict[str, tuple[Floats, Floats]] = {}
    for stream in streams:
        before = given[stream.name]
        routed = [known.of(stream, plans, int(plan)) for plan in first]
        if stream.grouping in POINTWISE:
            up = before.row[first]
            parts = [before.shares[r, :, : d.shares.shape[0]] @ d.shares for r, d in zip(up, routed, strict=True)]
            rates += list(before.term_per_s[up].transpose(1, 0, 2))
            if stream.grouping is Grouping.LOCAL_OR_SHUFFLE and plans.container:
                sent = np.einsum("rtn,rtu->ru", before.term_per_s[up], before.shares[up])
                pairs = np.array(
                    [
                        _partners(of_sender, each.shares) if plans.plans[plan].packing else each.shares.shape
                        for plan, of_sender, each in zip(first.tolist(), sent, routed, strict=True)
                    ],
                    dtype=np.float64,
                )
                partners[stream.name] = pairs[:, 0], pairs[:, 1]
        else:
            parts = [each.shares[None] for each in routed]
            rates.append(before.per_s.rows[before.per_s.of[first]])
        whole = np.zeros((len(first), parts[0].shape[0], most))
        for at, part in enumerate(parts):
            whole[at, :, : part.shape[1]] = part
        shares += list(whole.transpose(1, 0, 2))
        terms += [stream.name] * parts[0].shape[0]
        if not all(each.exact for each in routed):
            bounds.append(stream.name)
    if not streams:
        terms = [""]
        offered = scenarios.loads_per_s[:, topology.sources.index(name)]
        rates = [np.broadcast_to(offered, (len(first), offered.size))]
        partitions = topology.operator(name).partitions
        whole = np.zeros((len(first), most))
        for at, count in enumerate(counts):
            whole[at, :count] = partition_shares(partitions, int(count))
        shares = [whole]
    terms, rates, shares = _merged(terms, rates, shares)
    term_per_s, shared = np.stack(rates, axis=1), np.stack(shares, axis=1)
    # Not summed from shares, whose rounding would make rates differ between plans.
    copied = {stream.name for stream in streams if stream.grouping is Grouping.ALL}
    copies: Floats = np.stack([counts.astype(np.float64) if of in copied else np.ones(len(first)) for of in terms], 1)
    entering, senders = term_per_s * copies[:, :, None], shared / copies[:, :, None]
    least_s = 0.0 if profile.calls is None else profile.calls.least_s
    own = np.stack(np.broadcast_arrays(*(parameters.service_s(profile, of, counts) for of in terms)), axis=1)
    factor = plans.factor(name, most)
    return OperatorFlow(
        profile,
        row,
        counts,
        tuple(terms),
        term_per_s,
        shared,
        copies,
        np.maximum(own, least_s),
        None if factor is None else factor[first],
        parameters.cv2(profile),
        parameters.cpu_s(profile, terms),
        0.0 if streams or profile.polling is None else profile.polling.least_s,
        tuple(bounds),
        _outputs(topology, profile, scenarios, row, counts, terms, entering, senders),
        own_s=None if profile.calls is None else own,
        partners=partners,
    )


def _partners(sent_per_s: Floats, shares: Floats) -> tuple[float, float]:
    """From how many instances the reader of a tuple takes, and to how many its sender gives: harmonic means over
    tuples, in which uneven shares count for fewer. sent_per_s: by each sender. shares: of its output, by reader.

    >>> _partners(np.ones(3), np.full((3, 4), 1 / 4)), _partners(np.ones(3), np.eye(3))
    ((3.0, 4.0), (1.0, 1.0))
    """
    sent = sent_per_s[: shares.shape[0]] if sent_per_s.any() else np.ones(shares.shape[0])
    given = sent[:, None] * shares
    taken = given.sum(axis=0)
    of_readers = (given**2 / np.where(taken > 0, taken, 1.0)).sum()
    return float(sent.sum() / of_readers), float(sent.sum() / (given * shares).sum())


def _outputs(
    topology: Topology,
    profile: OperatorProfile,
    scenarios: Scenarios,
    row: Ints,
    counts: Ints,
    terms: Sequence[str],
    entering: Floats,
    senders: Floats,
) -> dict[str, StreamOutput]:
    """Instances emit in proportion to their input of each term; so do windows, if keys are similar.

    entering: total rate of each term, shape (rows, terms, scenarios). senders: its shares by instance, summing to 1,
    shape (rows, terms, instances).
    """
    found: dict[str, StreamOutput] = {}
    outputs = topology.outputs(profile.operator)
    if not outputs:
        return found
    parameters = scenarios.parameters
    for stream in outputs:
        if stream.name in scenarios.leaving_per_s:
            leaving = np.broadcast_to(scenarios.leaving_per_s[stream.name], entering.shape)
        elif stream.name in profile.windowed:
            leaving = left_by_window(profile.windowed[stream.name], terms, entering)
            leaving = leaving * parameters.selectivity_factor.get(stream.name, 1.0)
        else:
            ratios = [parameters.output_ratio(profile, stream.name, of) for of in terms]
            leaving = entering * np.stack(np.broadcast_arrays(*ratios))
        whole = leaving.sum(axis=1)
        _, rates, parts = _merged(list(terms), list(leaving.transpose(1, 0, 2)), list(senders.transpose(1, 0, 2)), True)
        if stream.grouping in POINTWISE:
            # Downstream depends only on the output of instances, whatever its origin.
            per, part = np.stack(rates, axis=1), np.stack(parts, axis=1)
            # Include the parallelism: nothing else distinguishes it if one instance emits all.
            number = numbered([(int(c), p.tobytes(), s.tobytes()) for c, p, s in zip(counts, per, part, strict=True)])
            _, once = np.unique(number, return_index=True)
            found[stream.name] = StreamOutput(_deduped(row, whole), number[row], per[once], part[once])
        else:
            found[stream.name] = StreamOutput(
                _deduped(row, whole), row, np.stack(rates, axis=1), np.stack(parts, axis=1)
            )
    return found


def left_by_window(window: WindowedOutput, streams: Sequence[str], entering_per_s: Floats) -> Floats:
    """The window's output for each input term of these streams; both of shape (rows, terms, scenarios)."""
    by_stream: dict[str, Floats] = {}
    for at, of in enumerate(streams):
        by_stream[of] = by_stream.get(of, np.zeros(1)) + entering_per_s[:, at]
    taken = entering_per_s.sum(axis=1)
    ratio = np.where(taken > 0, window.given_per_s(by_stream) / np.where(taken > 0, taken, 1.0), 0.0)
    return np.asarray(entering_per_s * ratio[:, None])


def _merged(
    terms: list[str], rates: list[Floats], shares: list[Floats], across: bool = False
) -> tuple[list[str], list[Floats], list[Floats]]:
    """Merge terms of one stream (across: of any) that have equal shares of instances in every row."""
    names: list[str] = []
    found: list[Floats] = []
    parts: list[Floats] = []
    for name, rate, part in zip(terms, rates, shares, strict=True):
        for at, other in enumerate(parts):
            if (across or names[at] == name) and np.abs(part - other).max() <= 1e-12:
                found[at] = found[at] + rate
                break
        else:
            names.append(name)
            found.append(rate)
            parts.append(part)
    return names, found, parts


class KnownRouting:
    """The routing of streams, computed once per parallelism; operators with the same keys share it."""

    def __init__(self, topology: Topology, profiles: Profiles) -> None:
        self._topology = topology
        self._profiles = profiles
        self._known: dict[tuple[object, ...], Routing] = {}

    def of(self, stream: Stream, plans: Placed, plan: int) -> Routing:
        """The routing in one plan. Shares: shape (downstream,), under pointwise groupings (upstream, downstream)."""
        up, down = (int(plans.parallelism[end][plan]) for end in (stream.upstream, stream.downstream))
        containers = None
        if stream.grouping is Grouping.LOCAL_OR_SHUFFLE and plans.container:
            containers = tuple(
                plans.container[end][plan, :count] for end, count in ((stream.upstream, up), (stream.downstream, down))
            )
            if min(each.min() for each in containers) < 0:
                containers = None
        return self.routed(stream, up, down, containers)

    def routed(self, stream: Stream, up: int, down: int, containers: tuple[Ints, ...] | None = None) -> Routing:
        """The routing from `up` to `down` instances."""
        reader = self._topology.operator(stream.downstream)
        keys = self._profiles[stream.downstream].partitioned_by(stream)
        pointwise = stream.grouping in POINTWISE
        what = (
            stream.grouping,
            stream.shares,
            down,
            reader.max_parallelism,
            keys,
            up if pointwise else 0,
            None if containers is None else tuple(each.tobytes() for each in containers),
        )
        if what not in self._known:
            self._known[what] = routing(
                stream.grouping,
                up,
                down,
                engine=self._topology.engine,
                max_parallelism=reader.max_parallelism,
                keys=keys,
                shares=stream.shares or None,
                containers=None if containers is None else (containers[0].tolist(), containers[1].tolist()),
            )
        return self._known[what]


def _spread(shares: Floats, term_per_s: Floats) -> Floats:
    """Rates by instance, shape (rows, instances, scenarios)."""
    if shares.shape[1] == 1:
        return np.asarray(shares[:, 0, :, None] * term_per_s)
    return np.asarray(shares.transpose(0, 2, 1) @ term_per_s)


def rows_of(columns: Sequence[Ints]) -> tuple[Ints, Ints]:
    """The first plan of each distinct combination, and the combination index of each plan."""
    combined = columns[0]
    if combined.size == 1:
        return np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    for column in columns[1:]:
        if int(column.max()) > 0:
            _, combined = np.unique(combined * (int(column.max()) + 1) + column, return_inverse=True)
    _, first, row = np.unique(combined, return_index=True, return_inverse=True)
    return first, row


def _deduped(of: Ints, rows: Floats) -> ByPlan:
    if rows.shape[0] == 1 or (rows == rows[0]).all():
        return ByPlan(np.zeros_like(of), rows[:1].copy())
    numbers = numbered(list(rows))
    _, first = np.unique(numbers, return_index=True)
    return ByPlan(numbers[of], rows[first])
