"""CPU apart from waiting: samples as they would be if every instance had a core to itself.

An engine's busy time is wall time. It includes waiting for a core and waiting for anything else (a remote call, a
sleep), and only the first of these depends on the plan. Where containers report their CPU time, it is shared out over
the instances in them, those of other jobs too, and what they waited for cores is taken out of their busy time. CPU that
a container uses at any rate is kept apart, with that of other jobs.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import scipy

from modeling.arrays import Floats, Ints, numbered
from modeling.calibration.by_input import counts_by, ratios_by_input
from modeling.calibration.measured import Measured, measured
from modeling.calibration.operator_sample import OperatorSample
from modeling.calibration.sifting import tuples_seen, warms_up
from modeling.calibration.spans import span_numbers
from modeling.inputs.operator_profile import Feature
from modeling.queueing.shared_cores import active_shares, stretches

PRIOR_ERROR = 0.3
"""Relative error of sharing CPU out by busy time: 3 % on large operators and up to 26 % on small ones were measured.
To it comes the share of busy time that is no CPU: whose waiting that is, busy time does not tell.
"""
ROW_ERROR = 0.05
"""Relative error of a container's CPU in one span: code is compiled and garbage collected now and then."""
IDLE_ERROR = 0.05
"""Cores by which a container's use without work usually differs from none: .02 to .06 were measured of Flink."""
WAKING_CORES = 0.1
"""Cores that a container may use to wake its instances while they wait for tuples (polls, timers), and not when they
never wait. Samples of a full and of one other load cannot tell it from use at any rate.
"""
POLLS = 0.1
"""Share of a container's cores used without work that is worth a note, if polls may be part of it."""
NOTEWORTHY = 0.02
"""Share of the busy time spent waiting for cores that is worth a note."""

OTHER_WAITING = 0.3
"""Share of the busy time that is neither CPU nor waiting for the container's cores, and is worth a note."""
UNSURE = 0.05
"""Share of the cores of containers whose CPU may be another operator's, and is worth a note."""
FULL = 0.95
"""Share of its cores above which a container hides what its instances wait for, and of its time above which an instance
never waits for tuples."""

OTHER_JOB = "of another job: "
"""Before the name of a task that is none of the job's operators."""

_Row = tuple[str, int | None]


@dataclass(frozen=True)
class BusyParts:
    """Busy time of one operator's samples and what is known of it, in seconds. waited_s: for a core; None if the cores
    of a container are unknown. full: whether a container used nearly all its cores, so that all of its busy time
    without CPU counts as waiting for one.
    """

    busy_s: float = 0.0
    cpu_s: float = 0.0
    waited_s: float | None = 0.0
    full: bool = False

    def plus(self, busy_s: float, cpu_s: float, waited_s: float | None, *, full: bool) -> "BusyParts":
        both = None if self.waited_s is None or waited_s is None else self.waited_s + waited_s
        return BusyParts(self.busy_s + busy_s, self.cpu_s + cpu_s, both, self.full or full)


@dataclass(frozen=True)
class CpuApart:
    """samples: in the order they came in, with cpu_s, and without waiting for cores in their busy times. parts: by
    operator, of samples with a container's CPU. idle_cores: that a container of these uses without work of the job;
    waking_cores: beside that while its instances wait for tuples, by operator: of containers with a source, it is the
    source that wakes (it polls, or has a timer), and its readers are woken by full buffers. unsure: by operator, share
    of the cores of all containers by which its CPU may be more or less; beside: other operators of which all of these
    ran as many for each of its instances. polls: by source that waits in every span, share of a container's cores used
    without work.
    """

    samples: tuple[OperatorSample, ...]
    parts: Mapping[str, BusyParts]
    idle_cores: Measured | None = None
    waking_cores: Mapping[str, Measured] = field(default_factory=dict)
    unsure: Mapping[str, float] = field(default_factory=dict)
    beside: Mapping[str, Sequence[str]] = field(default_factory=dict)
    polls: Mapping[str, float] = field(default_factory=dict)

    def features(self, operator: str) -> frozenset[Feature]:
        alone = self.unsure.get(operator, 0.0) >= UNSURE and self.beside.get(operator)
        return frozenset({Feature.BUSY_TIME_ALONE} if alone else ())

    @property
    def waited(self) -> Mapping[str, float]:
        """By operator, share of its busy time spent waiting for a core, where cores are known."""
        return {
            name: of.waited_s / of.busy_s
            for name, of in self.parts.items()
            if of.waited_s is not None and of.busy_s > 0
        }

    def notes(self, operator: str) -> tuple[str, ...]:
        of = self.parts.get(operator)
        if of is None or of.busy_s <= 0:
            return ()
        if of.waited_s is None:
            if of.cpu_s > (1 - OTHER_WAITING) * of.busy_s:
                return ()
            return (
                f"its instances computed in {of.cpu_s / of.busy_s:.0%} of their busy time; how much of the rest they "
                "waited for a core is not known, as the cores of their containers are not: declare packing.cores",
            )
        notes = []
        if (share := self.polls.get(operator, 0.0)) >= POLLS:
            notes.append(
                f"its containers use {share:.0%} of their cores without work, as far as loads show that leave it idle: "
                "some of it may be polls, which full load ends, and capacities too low; calibrate at full load too"
            )
        if (share := of.waited_s / of.busy_s) >= NOTEWORTHY:
            notes.append(
                f"its instances waited for a core in {share:.0%} of their busy time, as containers shared their cores: "
                "service times are those with a core for each"
            )
            if of.full:
                notes.append(
                    "a container used all its cores while it was measured: calls and sleeps, if there were any, cannot "
                    "be told from waiting for a core; calibrate once more under less load"
                )
        other = 1 - (of.waited_s + of.cpu_s) / of.busy_s
        if other >= OTHER_WAITING:
            notes.append(
                f"its instances neither computed nor waited for their container's cores in {other:.0%} of their busy "
                "time: it counts as waiting that every plan has, such as a call or a sleep. If other programs on its "
                "host took the cores, the service time is too long; if it makes several calls at once (asynchronous "
                "I/O), latencies are too short: declare calls"
            )
        share, beside = self.unsure.get(operator, 0.0), ", ".join(self.beside.get(operator, ()))
        if share >= UNSURE and beside:
            notes.append(
                f"its CPU is told from that of {beside} by busy time alone, as all containers ran them in the same "
                f"mix: what {share:.0%} of their cores do, and more, may be the work of another. Calibrate at a plan "
                "with fewer instances of one, if plans are to differ in that"
            )
        elif share >= UNSURE and len(self.parts) > 1:
            notes.append(
                f"what {share:.0%} of the cores of all containers do may be its work or another operator's: measure "
                "more or longer spans, if plans are to differ in how many instances of each they have"
            )
        return tuple(notes)


def cpu_apart(samples: Sequence[OperatorSample], sources: Collection[str] = (), warm_s: float = 0.0) -> CpuApart:
    """Samples without a container's CPU stay as they are. sources: names of operators. warm_s: age below which
    instances warm up: their containers also compile code then, which tells nothing of tuples.
    """
    rows: dict[_Row, list[int]] = defaultdict(list)
    every = list(samples)
    with_start = [at for at, sample in enumerate(samples) if sample.began_s is not None]
    span = dict(zip(with_start, span_numbers([samples[at] for at in with_start]).tolist(), strict=True))
    for at, sample in enumerate(samples):
        if sample.container is not None and sample.container_cpu_s is not None:
            row = rows[sample.container, span.get(at)]
            if not row and sample.beside:
                row += range(len(every), len(every) + len(sample.beside))
                every += _tasks_beside(sample)
            row.append(at)
    if not rows:
        return CpuApart(tuple(samples), {})
    apart, parts = list(every), defaultdict[str, BusyParts](BusyParts)
    telling = _telling(every, list(rows.values()), warm_s)
    tuples = _tuples(every, list(rows.values()))
    fit = _fit(every, tuples, telling, sources)
    for row in rows.values():
        there = [every[at] for at in row]
        cores, full = there[0].container_cores, in_full_container(there[0])
        cpu_s = _shared_out(there, tuples[row], fit.per_tuple_s)
        waits_s = _waits_s(there, cpu_s, fit.idle_cores.value)
        for at, sample, cpu, wait in zip(row, there, cpu_s.tolist(), waits_s.tolist(), strict=True):
            apart[at] = replace(sample, cpu_s=cpu, busy_s=sample.busy_s - wait)
            waited = None if cores is None else wait
            if warms_up(sample, warm_s):
                continue
            parts[sample.operator] = parts[sample.operator].plus(sample.busy_s, cpu, waited, full=full)
    own = {sample.operator for sample in samples}
    idle = (
        fit.idle_cores
        if len(every) == len(samples)
        else fit.idle_cores.plus(_cores_beside(telling, apart, len(samples)))
    )
    mixes = [Counter(every[at].operator for at in row) for row in rows.values()]
    return CpuApart(
        tuple(apart[: len(samples)]),
        {name: of for name, of in parts.items() if name in own},
        idle,
        fit.waking_cores,
        fit.unsure if len({container for container, _ in rows}) > 1 else {},
        _beside(mixes, own.intersection(parts)),
        _perhaps_polls([[every[at] for at in row] for row in telling], fit.idle_cores.value, sources),
    )


def _telling(samples: Sequence[OperatorSample], rows: list[list[int]], warm_s: float) -> list[list[int]]:
    """Containers and spans without an instance that warms up, or all of them if an operator that does not is in others
    alone.
    """
    calm = [row for row in rows if not any(warms_up(samples[at], warm_s) for at in row)]
    needed = {samples[at].operator for row in rows for at in row if not warms_up(samples[at], warm_s)}
    return calm if calm and needed <= {samples[at].operator for row in calm for at in row} else rows


def _perhaps_polls(
    rows: Sequence[Sequence[OperatorSample]], idle_cores: float, sources: Collection[str]
) -> dict[str, float]:
    """By source, share of its smallest container's cores used without work, if it waits for tuples in every span."""
    found = dict[str, float]()
    for row in rows:
        for name in {sample.operator for sample in row}.intersection(sources):
            busy = any(_never_waits(sample) for sample in row)
            found[name] = max(found.get(name, 0.0), np.inf if busy else idle_cores / (row[0].container_cores or np.inf))
    return {name: share for name, share in found.items() if share < np.inf}


def wanting(samples: Sequence[OperatorSample], apart: CpuApart) -> list[OperatorSample]:
    """Samples in which waiting for a core counts as work, as CPU too: what an instance would do is not what it waits
    for.
    """
    return [
        replace(one, busy_s=raw.busy_s, cpu_s=None if one.cpu_s is None else one.cpu_s + raw.busy_s - one.busy_s)
        for raw, one in zip(samples, apart.samples, strict=True)
    ]


def _beside(mixes: Sequence[Mapping[str, int]], names: Iterable[str]) -> dict[str, list[str]]:
    """By operator, the others of which all containers run as many for each of its instances.

    >>> _beside([{"a": 2, "b": 1, "c": 2}, {"a": 2, "b": 2, "c": 4}], "abc")
    {'a': [], 'b': ['c'], 'c': ['b']}
    """
    counts = {name: np.array([mix.get(name, 0) for mix in mixes], dtype=np.float64) for name in sorted(names)}
    parts = {name: count / count.sum() for name, count in counts.items()}
    return {
        name: [other for other in parts if other != name and np.allclose(part, parts[other])]
        for name, part in parts.items()
    }


def _tasks_beside(sample: OperatorSample) -> list[OperatorSample]:
    """Samples of the tasks of other jobs in its container."""
    return [
        replace(
            sample,
            operator=f"{OTHER_JOB}{task.name}",
            index=task.index,
            busy_s=task.busy_s,
            backpressured_s=task.backpressured_s,
            records_in=task.tuples,
            records_out={},
            records_in_by={},
            busy_s_by={},
            parallelism=None,
            beside=(),
        )
        for task in sample.beside
    ]


def _cores_beside(rows: Iterable[Sequence[int]], apart: Sequence[OperatorSample], own: int) -> Measured:
    """Cores that the tasks of other jobs used in a container. own: number of samples of the job, which come first."""
    used = np.array([sum((apart[at].cpu_s or 0.0) / apart[at].span_s for at in row if at >= own) for row in rows])
    return measured(float(used.mean()), float(used.std(ddof=1) / used.size**0.5) if used.size > 1 else 0.0)


@dataclass(frozen=True)
class _Fit:
    """per_tuple_s, waking_cores: by operator; the second is empty if no load is full. idle_cores: of a container.
    unsure: as in CpuApart.
    """

    per_tuple_s: Mapping[str, float]
    idle_cores: Measured
    waking_cores: Mapping[str, Measured] = field(default_factory=dict)
    unsure: Mapping[str, float] = field(default_factory=dict)


def _fit(
    samples: Sequence[OperatorSample], counts: Floats, rows: Sequence[Sequence[int]], sources: Collection[str]
) -> _Fit:
    """Least squares over containers and spans of CPU = Σ CPU per tuple · tuples + idle · span, all of them ≥ 0, towards
    CPU in proportion to busy time without waiting for cores, which alone decides where containers hold the same mix.
    One load alone does not tell idle use apart: it counts as that of tuples then.

    A full container uses the same CPU in every span: that it works on more tuples in one than in another is the pace of
    the machine, and would count as use without work. So idle use comes from its spans added up. Below full load a
    source may fill it with polls: these are spans of their own, and tell nothing of what the source's tuples take.
    counts: tuples of each sample.
    """
    names = sorted({samples[at].operator for row in rows for at in row})
    tuples, busy_s, seen, polls = (np.zeros((len(rows), len(names))) for _ in range(4))
    total_s, span_s, waking_s = np.zeros(len(rows)), np.zeros(len(rows)), np.zeros(len(rows))
    alike = list[object]()
    for number, row in enumerate(rows):
        total_s[number] = samples[row[0]].container_cpu_s or 0.0
        span_s[number] = float(np.mean([samples[at].span_s for at in row]))
        waits, full = not any(_never_waits(samples[at]) for at in row), in_full_container(samples[row[0]])
        if waits:
            waking_s[number] = WAKING_CORES * span_s[number]
        there = frozenset((each.operator, each.index, each.parallelism) for each in (samples[at] for at in row))
        alike.append((there, waits) if full else number)
        computed_s = _computed_s([samples[at] for at in row])
        for at, longest_s in zip(row, computed_s.tolist(), strict=True):
            column = names.index(samples[at].operator)
            tuples[number, column] += counts[at]
            busy_s[number, column] += longest_s
            seen[number, column] += 0.0 if samples[at].hides_busy_time else counts[at]
            polls[number, column] = waits and samples[at].operator in sources
    known = tuples.sum(axis=0) > 0
    if not known.any() or busy_s.sum() <= 0:
        return _Fit({}, measured(0.0, IDLE_ERROR))
    tells = (seen > 0) & (polls == np.where(seen > 0, polls, 1).min(axis=0))
    told_s, told_of = (busy_s * tells).sum(axis=0), (seen * tells).sum(axis=0)
    part = (busy_s * tells).sum(axis=1) / np.maximum(busy_s.sum(axis=1), 1e-300)
    computing = min(1.0, float(part @ total_s) / told_s.sum()) if told_s.any() else 1.0
    prior_s = told_s / np.maximum(told_of, 1e-300) * computing
    prior = _Prior(prior_s, PRIOR_ERROR + 1 - computing)
    apart = waking_s.min() < waking_s.max()
    used_s = np.maximum(total_s, 1e-9)
    pace_s = _pace_error(tuples @ prior_s / used_s, alike) * used_s
    error_s = np.hypot(ROW_ERROR * used_s, waking_s if apart else 0.0)
    every = _Use(tuples, span_s, total_s, error_s, pace_s, span_numbers([samples[row[0]] for row in rows]))
    _, _, idle = every.added_up(alike).solved(prior, measured(0.0, IDLE_ERROR))
    per_tuple_s, unsure_s, _ = every.solved(prior, replace(idle, error=IDLE_ERROR * ROW_ERROR))
    cores_s = [(samples[row[0]].container_cores or 0.0) * samples[row[0]].span_s for row in rows]
    unsure = unsure_s * tuples.sum(axis=0) / np.maximum(total_s, cores_s).sum()
    waking: dict[str, Measured] = {}
    if apart:
        work_s = tuples @ per_tuple_s + idle.value * span_s
        calm = [number for number in range(len(rows)) if waking_s[number] > 0]
        waiting = [[samples[at] for at in rows[number]] for number in calm]
        waking = _waking_cores(names, waiting, (total_s - work_s)[calm], work_s[calm], sources)
    told = {name: float(per_tuple_s[at]) for at, name in enumerate(names) if known[at]}
    return _Fit(told, idle, waking, dict(zip(names, unsure.tolist(), strict=True)))


def _pace_error(work: Floats, alike: Sequence[object]) -> float:
    """Relative deviation of the work done with a second of CPU, among rows that are equal in `alike`."""
    of = numbered(alike)
    count = np.bincount(of)
    mean = np.bincount(of, work) / count
    deviations = np.where(mean[of] > 0, work / np.maximum(mean[of], 1e-300) - 1, 0.0)
    return float(np.sqrt((deviations**2).sum() / max(1, (count - 1).sum())))


@dataclass(frozen=True)
class _Prior:
    """CPU seconds per tuple of each operator as busy time tells them, 0 if unknown; and their relative error."""

    per_tuple_s: Floats
    error: float


@dataclass(frozen=True)
class _Use:
    """Of containers in spans: tuples by operator, seconds of the span, CPU seconds used; the error of these, of each by
    itself and, as the machine's pace has it, of all in one span.
    """

    tuples: Floats
    span_s: Floats
    total_s: Floats
    error_s: Floats
    pace_s: Floats
    span: Ints

    def added_up(self, alike: Sequence[object]) -> "_Use":
        """Rows that are equal in `alike` as one."""
        of = numbered(alike)
        each = (*self.tuples.T, self.span_s, self.total_s, self.error_s**2 + self.pace_s**2)
        sums: list[Floats] = [np.asarray(np.bincount(of, one), dtype=np.float64) for one in each]
        *columns, span_s, total_s, square_s2 = sums
        tuples: Floats = np.stack(columns, axis=1)
        return _Use(tuples, span_s, total_s, np.sqrt(square_s2), np.zeros(len(span_s)), np.arange(len(span_s)))

    def solved(self, prior: _Prior, idle: Measured) -> tuple[Floats, Floats, Measured]:
        """CPU seconds per tuple of each operator, their errors, and cores without work. idle: what these are taken for
        before.
        """
        count = len(prior.per_tuple_s)
        scale_s = np.where(prior.per_tuple_s > 0, prior.per_tuple_s, 1.0)
        # Unknowns in units of the prior; the idle use of a container in cores.
        rows = self._whitened(np.column_stack([self.tuples * scale_s, self.span_s, self.total_s]))
        equations = np.vstack([rows[:, :-1], np.diag([*np.full(count, 1 / prior.error), 1 / idle.error])])
        expected = np.where(prior.per_tuple_s > 0, 1 / prior.error, 0.0)
        wanted = np.concatenate([rows[:, -1], expected, [idle.value / idle.error]])
        solution = scipy.optimize.lsq_linear(equations, wanted, bounds=(0, np.inf)).x
        *errors, idle_error = np.sqrt(np.diag(np.linalg.inv(equations.T @ equations))).tolist()
        return solution[:-1] * scale_s, np.array(errors) * scale_s, measured(float(solution[-1]), idle_error)

    def _whitened(self, rows: Floats) -> Floats:
        """In units of errors, and without the part that rows of one span share: (I + qqᵀ)^(-1/2), q the shared error
        in units of each row's own.
        """
        own, q = rows / self.error_s[:, None], self.pace_s / self.error_s
        square = np.bincount(self.span, q**2)
        shared = np.stack([np.bincount(self.span, q * column) for column in own.T], axis=1)
        part = np.where(square > 0, (1 - 1 / np.sqrt(1 + square)) / np.maximum(square, 1e-300), 0.0)
        return np.asarray(own - q[:, None] * (part[:, None] * shared)[self.span])


def _waking_cores(
    names: Sequence[str],
    calm: Sequence[Sequence[OperatorSample]],
    beyond_s: Floats,
    work_s: Floats,
    sources: Collection[str],
) -> dict[str, Measured]:
    """Of a container that only waits, by operator: CPU beyond that of work, over the time that work leaves.

    calm: samples of each container and span in which instances waited. A container with a source counts for sources.
    """
    each = beyond_s / np.array(
        [one[0].span_s * max(_waiting(one[0], s), 1e-9) for one, s in zip(calm, work_s, strict=True)]
    )
    polled = np.array([any(sample.operator in sources for sample in one) for one in calm])
    waking = dict.fromkeys(names, measured(0.0, 0.0))
    for of_sources in (False, True):
        found = each[polled == of_sources]
        if found.size:
            error = float(found.std(ddof=1) / found.size**0.5) if found.size > 1 else 0.0
            owners = [name for name in names if (name in sources) == of_sources]
            waking |= dict.fromkeys(owners, measured(max(0.0, float(found.mean())), error))
    return waking


def _waiting(container: OperatorSample, work_s: float) -> float:
    """Share of the time that work leaves: a part of a core is a quota, and work is as quick as on a whole one."""
    return 1 - work_s / (max(container.container_cores or 1.0, 1.0) * container.span_s)


def _never_waits(sample: OperatorSample) -> bool:
    """Whether an instance had tuples to work on all the time, as it has under more load than its job carries."""
    return sample.busy_s + sample.backpressured_s >= FULL * sample.span_s


def _computed_s(there: Sequence[OperatorSample]) -> Floats:
    """CPU seconds of each instance of one container if it waited for nothing but cores: its busy time over the stretch
    by all others that were busy. In a full container, its part of what was used, by busy time.
    """
    busy_s = np.array([sample.busy_s for sample in there])
    cores = there[0].container_cores
    if cores is None:
        return busy_s
    if in_full_container(there[0]):
        return np.asarray(busy_s * min(1.0, (there[0].container_cpu_s or 0.0) / max(float(busy_s.sum()), 1e-300)))
    active = np.minimum(1.0, busy_s / np.array([sample.span_s for sample in there]))
    return np.asarray(busy_s / stretches(active, cores))


def in_full_container(sample: OperatorSample) -> bool:
    """Whether its container used nearly all its cores."""
    cores, cpu_s = sample.container_cores, sample.container_cpu_s or 0.0
    return cores is not None and cpu_s >= FULL * cores * sample.span_s


def _tuples(samples: Sequence[OperatorSample], rows: Iterable[Sequence[int]]) -> Floats:
    """Tuples that each sample took in; of a source that reports none, those emitted. Where an operator's inputs take
    unequally long, as many of the mean.
    """
    counts = np.array([sample.records_in or tuples_seen(sample) for sample in samples])
    computed_s = np.zeros(len(samples))
    of: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        computed_s[row] = _computed_s([samples[at] for at in row])
        for at in row:
            if len(samples[at].records_in_by) > 1 and not samples[at].hides_busy_time:
                of[samples[at].operator].append(at)
    for places in of.values():
        there = [samples[at] for at in places]
        by = counts_by(samples, places, sorted({stream for each in there for stream in each.records_in_by}))
        apart = ratios_by_input(by, computed_s[places], span=span_numbers(there))
        costs = np.sum([ratio.value * by[stream] for stream, ratio in apart.ratio.items()], axis=0)
        if np.sum(costs) > 0:
            counts[places] = costs * (counts[places].sum() / costs.sum())
    return counts


def _shared_out(there: Sequence[OperatorSample], counts: Floats, per_tuple_s: Mapping[str, float]) -> Floats:
    """CPU seconds of each instance of one container in one span, in all at most what the container used. More than its
    busy time, if further threads compute for it. counts: tuples of each.
    """
    cpu_s = np.array([per_tuple_s.get(sample.operator, 0.0) for sample in there]) * counts
    total_s = there[0].container_cpu_s or 0.0
    return np.asarray(cpu_s * min(1.0, total_s / max(float(cpu_s.sum()), 1e-300)))


def _waits_s(there: Sequence[OperatorSample], cpu_s: Floats, idle_cores: float) -> Floats:
    """Seconds that each instance of one container waited for a core; 0 where cores are unknown. idle_cores: that the
    container used without work.
    """
    cores = there[0].container_cores
    if cores is None:
        return np.zeros(len(there))
    span_s = np.array([sample.span_s for sample in there])
    busy_s = np.array([sample.busy_s for sample in there])
    if in_full_container(there[0]):
        return np.asarray(np.maximum(busy_s - cpu_s, 0.0))
    used = np.append(cpu_s / span_s, min(1.0, idle_cores))
    waited_s = active_shares(used, cores)[:-1] * span_s - cpu_s
    return np.asarray(np.clip(waited_s, 0.0, np.maximum(busy_s - cpu_s, 0.0)))
