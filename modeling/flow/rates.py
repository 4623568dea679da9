"""Rates: how offered loads spread through a topology, for many plans under many scenarios, operator by operator.

The one recursion of rates. What instances take in is a sum of terms. A term is a flow of so many tuples per second, of
which every instance has a fixed share: what comes by a stream is one term, and under pointwise groupings one for each
term of the operators before it whose instances share it differently. Shares depend on the plan alone and rates hardly
on the plan, so plans in which an operator is given the same share one row. Utilisation, containers and links are
weighted sums of the same terms.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from modeling.arrays import Floats, Ints
from modeling.flow.kinds import Kinds, kinds_of
from modeling.flow.routing import POINTWISE, Routing, routing
from modeling.flow.scenarios import Scenarios
from modeling.inputs.operator_profile import OperatorProfile, Profiles
from modeling.inputs.placed import Placed
from modeling.inputs.topology import Grouping, Stream, Topology
from modeling.inputs.windowed_output import WindowedOutput


@dataclass(frozen=True)
class ByPlan:
    """Rows that several plans may share: rows[of[plan]] is a plan's, one entry a scenario."""

    of: Ints
    rows: Floats

    def every(self) -> Floats:
        """Shape (plans, scenarios), or (1, scenarios) where all plans have the same."""
        return self.rows if self.rows.shape[0] == 1 else self.rows[self.of]


@dataclass(frozen=True)
class Given:
    """What an operator gives out on one stream.

    per_s: of all its instances, as often as it is made (an ALL stream counts once). row: of each plan in the others.
    term_per_s: shape (rows, terms, scenarios), adding up to that; shares: of each term, which instance gives it, shape
    (rows, terms, most instances), adding up to 1.
    """

    per_s: ByPlan
    row: Ints
    term_per_s: Floats
    shares: Floats


@dataclass(frozen=True)
class OperatorFlow:
    """One operator in all plans under all scenarios.

    row: of each plan. parallelism: shape (rows,). streams: by which each term enters, "" at a source. term_per_s: of
    each term before it is routed, shape (rows, terms, scenarios). shares: what each instance gets of a term, shape
    (rows, terms, most instances), 0 where there is no such instance; under ALL every instance gets the whole.
    service_s: seconds per tuple where nodes are as measured, shape (rows, terms, scenarios or 1). service_factor: of
    each instance's node, shape (rows, most instances); None where all are 1. cv2: of service times within a stream,
    shape (scenarios or 1,). cpu_s: CPU seconds per tuple, likewise, None where nobody measured it. poll_s: seconds of
    its time that a tuple takes up at least, at a source that polls. bounds: streams of which the busiest instance is
    only bounded in some plan, since not all keys are known, or not what the engine does with them. given: per stream
    that leaves.
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
    given: Mapping[str, Given]

    @property
    def name(self) -> str:
        return self.profile.operator

    @cached_property
    def stream_per_s(self) -> dict[str, Floats]:
        """Per stream that enters, before it is routed, shape (rows, scenarios)."""
        found: dict[str, Floats] = {}
        for at, stream in enumerate(self.streams):
            found[stream] = found[stream] + self.term_per_s[:, at] if stream in found else self.term_per_s[:, at]
        return found

    @cached_property
    def entering_per_s(self) -> Floats:
        """Tuples into all instances together, shape (rows, scenarios)."""
        return np.asarray((self.term_per_s * self.copies[:, :, None]).sum(axis=1))

    @cached_property
    def idle_service_s(self) -> Floats:
        """Seconds per tuple where nothing tells by which stream it comes, shape (rows, scenarios or 1)."""
        return np.asarray(self.service_s.mean(axis=1))

    @property
    def one_service(self) -> bool:
        """Whether a tuple takes as long whatever its stream and its instance."""
        return self.service_factor is None and not self.profile.stream_service_s

    def instance_per_s(self) -> Floats:
        """Tuples into each instance, shape (rows, instances, scenarios)."""
        return _spread(self.shares, self.term_per_s)

    def worked_s(self) -> Floats:
        """Seconds that each instance is busy in a second, shape (rows, instances, scenarios)."""
        return _spread(self.slowed, self.term_per_s * self.service_s)

    @property
    def cpu_per_s(self) -> Floats:
        """Seconds of CPU a second that each term needs where nodes are as measured, shape (rows, terms, scenarios).

        The CPU of a tuple grows with its node's factor, and not with the parallelism: instances that wait for each
        other do not compute. Where it was not measured: as long as an instance is busy, which is more than it computes
        wherever it waits for something while busy, and less where threads beside it compute.
        """
        return self.term_per_s * (self.service_s if self.cpu_s is None else self.cpu_s)

    def cores(self) -> Floats:
        """Cores that each instance keeps in use, shape (rows, instances, scenarios)."""
        return _spread(self.slowed, self.cpu_per_s)

    def busy(self) -> Floats:
        """Utilisation of each instance, shape (rows, instances, scenarios); above 1 it is overloaded.

        It is its busy seconds per second, or the part of what it may ask for where it polls.
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
        """The different instances; those that differ by no more than the part `alike` count as one kind."""
        return kinds_of(self.shares, self.service_factor, self.parallelism, alike)

    @property
    def slowed(self) -> Floats:
        """What each instance gets of a term, times by what factor its node makes it longer."""
        return self.shares if self.service_factor is None else self.shares * self.service_factor[:, None]


def operator_flows(
    topology: Topology, profiles: Profiles, plans: Placed, scenarios: Scenarios, known: "KnownRouting"
) -> Iterator[OperatorFlow]:
    """λ(out) = selectivity · λ(in), summed over inputs, in topological order, so that all that enters an operator is
    known before it is computed. Plans and profiles fit the topology.
    """
    given: dict[str, Given] = {}
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
    given: Mapping[str, Given],
) -> OperatorFlow:
    name, parameters = profile.operator, scenarios.parameters
    streams, parallelism = topology.inputs(name), plans.parallelism[name]
    deciding = [parallelism]
    for stream in streams:
        before = given[stream.name]
        deciding.append(before.row if stream.grouping in POINTWISE else before.per_s.of)
        if stream.grouping is Grouping.LOCAL_OR_SHUFFLE and plans.container:
            deciding += [_numbered(list(plans.container[end])) for end in (stream.upstream, name)]
    if name in plans.service_factor:
        deciding.append(_numbered(list(plans.service_factor[name])))
    first, row = rows_of(deciding)
    counts = parallelism[first]
    most = int(counts.max())
    terms: list[str] = []
    rates: list[Floats] = []
    shares: list[Floats] = []
    bounds: list[str] = []
    for stream in streams:
        before = given[stream.name]
        routed = [known.of(stream, plans, int(plan)) for plan in first]
        if stream.grouping in POINTWISE:
            up = before.row[first]
            parts = [before.shares[r, :, : d.shares.shape[0]] @ d.shares for r, d in zip(up, routed, strict=True)]
            rates += list(before.term_per_s[up].transpose(1, 0, 2))
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
        shares = [(np.arange(most) < counts[:, None]) / counts[:, None]]
    terms, rates, shares = _merged(terms, rates, shares)
    term_per_s, shared = np.stack(rates, axis=1), np.stack(shares, axis=1)
    # Not added up from shares, whose rounding would make rates of different plans differ.
    copied = {stream.name for stream in streams if stream.grouping is Grouping.ALL}
    copies: Floats = np.stack([counts.astype(np.float64) if of in copied else np.ones(len(first)) for of in terms], 1)
    entering, senders = term_per_s * copies[:, :, None], shared / copies[:, :, None]
    services = {of: parameters.service_s(profile, of, counts) for of in set(terms)}
    factor = plans.factor(name, most)
    return OperatorFlow(
        profile,
        row,
        counts,
        tuple(terms),
        term_per_s,
        shared,
        copies,
        np.stack(np.broadcast_arrays(*(services[of] for of in terms)), axis=1),
        None if factor is None else factor[first],
        parameters.cv2(profile),
        parameters.cpu_s(profile),
        0.0 if streams or profile.polling is None else profile.polling.least_s,
        tuple(bounds),
        _outputs(topology, profile, scenarios, row, counts, terms, entering, senders),
    )


def _outputs(
    topology: Topology,
    profile: OperatorProfile,
    scenarios: Scenarios,
    row: Ints,
    counts: Ints,
    terms: Sequence[str],
    entering: Floats,
    senders: Floats,
) -> dict[str, Given]:
    """Instances give out in proportion to what they take in of each term; so do windows, as far as keys are alike.

    entering: of each term into all instances, shape (rows, terms, scenarios). senders: into which of them, adding up to
    1, shape (rows, terms, instances).
    """
    found: dict[str, Given] = {}
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
            # What comes after depends on what instances give alone, however it came about.
            per, part = np.stack(rates, axis=1), np.stack(parts, axis=1)
            # By how many they are too: of one that gives all, nothing else tells.
            number = _numbered([(int(c), p.tobytes(), s.tobytes()) for c, p, s in zip(counts, per, part, strict=True)])
            _, once = np.unique(number, return_index=True)
            found[stream.name] = Given(_deduped(row, whole), number[row], per[once], part[once])
        else:
            found[stream.name] = Given(_deduped(row, whole), row, np.stack(rates, axis=1), np.stack(parts, axis=1))
    return found


def left_by_window(window: WindowedOutput, streams: Sequence[str], entering_per_s: Floats) -> Floats:
    """What leaves a window of each term that enters, by these streams; both of shape (rows, terms, scenarios)."""
    by_stream: dict[str, Floats] = {}
    for at, of in enumerate(streams):
        by_stream[of] = by_stream.get(of, np.zeros(1)) + entering_per_s[:, at]
    taken = entering_per_s.sum(axis=1)
    ratio = np.where(taken > 0, window.given_per_s(by_stream) / np.where(taken > 0, taken, 1.0), 0.0)
    return np.asarray(entering_per_s * ratio[:, None])


def _merged(
    terms: list[str], rates: list[Floats], shares: list[Floats], across: bool = False
) -> tuple[list[str], list[Floats], list[Floats]]:
    """Terms of one stream (across: of any) that fall on instances alike in every row are one."""
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
    """How streams are routed, worked out once for each parallelism; operators with the same keys share."""

    def __init__(self, topology: Topology, profiles: Profiles) -> None:
        self._topology = topology
        self._profiles = profiles
        self._known: dict[tuple[object, ...], Routing] = {}

    def of(self, stream: Stream, plans: Placed, plan: int) -> Routing:
        """Of one plan. Shares have the shape (downstream,), under pointwise groupings (upstream, downstream)."""
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
        """From so many instances to so many."""
        reader = self._topology.operator(stream.downstream)
        keys = self._profiles[stream.downstream].keys_of(stream.name)
        pointwise = stream.grouping in POINTWISE
        what = (
            stream.grouping,
            stream.shares,
            down,
            reader.max_parallelism,
            keys if stream.grouping is Grouping.FIELDS else None,
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
    """Shape (rows, instances, scenarios)."""
    if shares.shape[1] == 1:
        return np.asarray(shares[:, 0, :, None] * term_per_s)
    return np.asarray(shares.transpose(0, 2, 1) @ term_per_s)


def rows_of(columns: Sequence[Ints]) -> tuple[Ints, Ints]:
    """The first plan of each combination, and the combination of each plan."""
    combined = columns[0]
    if combined.size == 1:
        return np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    for column in columns[1:]:
        if int(column.max()) > 0:
            _, combined = np.unique(combined * (int(column.max()) + 1) + column, return_inverse=True)
    _, first, row = np.unique(combined, return_index=True, return_inverse=True)
    return first, row


def _numbered(values: Sequence[object]) -> Ints:
    """A number for each value, the same for equal ones; arrays by what they hold."""
    numbers: dict[object, int] = {}
    keys = (value.tobytes() if isinstance(value, np.ndarray) else value for value in values)
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)


def _deduped(of: Ints, rows: Floats) -> ByPlan:
    if rows.shape[0] == 1 or (rows == rows[0]).all():
        return ByPlan(np.zeros_like(of), rows[:1].copy())
    numbers = _numbered(list(rows))
    _, first = np.unique(numbers, return_index=True)
    return ByPlan(numbers[of], rows[first])
