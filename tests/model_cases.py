"""Random questions to the performance model, of every feature that profiles, topologies and sites have."""

from dataclasses import dataclass
from itertools import product

from hypothesis import strategies as st

from modeling.evaluate_many import evaluate_many
from modeling.inputs.key_histogram import KeyHistogram
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.polling import Polling
from modeling.inputs.scale_efficiency import LINEAR, ScaleEfficiency
from modeling.inputs.topology import Engine, Grouping, Operator, Stream, Topology
from modeling.inputs.windowed_output import WindowedOutput, WindowKind

Profiles = dict[str, OperatorProfile]

FEW = {2: 6, 3: 4, 4: 3}
"""Most instances of each operator, by the number of operators: all parallelisms can be tried one by one."""

WORDS = ("storm", "heron", "flink", "spark", "kafka")


@dataclass(frozen=True)
class Case:
    """A topology with profiles, and a load that keeps some plan of it about as busy as instances may be."""

    topology: Topology
    profiles: Profiles
    load_per_s: dict[str, float]

    def plans(self) -> list[PhysicalPlan]:
        """Of every parallelism that fits the topology."""
        counts = []
        for name in self.topology.order:
            given = {len(s.shares) for s in self.topology.inputs(name) if s.grouping is Grouping.CUSTOM}
            counts.append(sorted(given) or range(1, self.topology.operator(name).max_parallelism + 1))
        names = self.topology.order
        return [PhysicalPlan(self.topology.name, dict(zip(names, each, strict=True))) for each in product(*counts)]


@st.composite
def cases(draw: st.DrawFn, *, busy: tuple[float, float] = (0.2, 1.3)) -> Case:
    """Two to four operators, one or two of them sources. busy: how busy the load keeps some plan."""
    topology = draw(topologies())
    profiles = {name: draw(profiles_of(topology, name)) for name in topology.order}
    load = {source: draw(st.sampled_from([1.0, 1.0, 0.3, 0.0])) for source in topology.sources}
    if not any(load.values()):
        load[topology.sources[0]] = 1.0
    some = draw(st.sampled_from(Case(topology, profiles, load).plans()))
    unit = {source: [rate] for source, rate in load.items()}
    full = float(evaluate_many(topology, profiles, [some], unit, latency=False).headroom_factor[0, 0])
    scale = min(full, 1e4) * draw(st.floats(*busy))
    return Case(topology, profiles, {source: rate * scale for source, rate in load.items()})


@st.composite
def topologies(draw: st.DrawFn) -> Topology:
    """Streams go from earlier operators to later ones; two of the same ends have labels."""
    size = draw(st.integers(2, 4))
    sources = draw(st.integers(1, min(2, size - 1)))
    names = [f"o{at}" for at in range(size)]
    operators = [Operator(name, draw(st.integers(1, FEW[size]))) for name in names]
    streams: list[Stream] = []
    for at in range(sources, size):
        senders = draw(st.lists(st.integers(0, at - 1), min_size=1, max_size=3))
        given = draw(st.integers(1, operators[at].max_parallelism))
        for number, sender in enumerate(senders):
            grouping = draw(st.sampled_from(Grouping))
            weights = draw(st.lists(st.integers(0, 3), min_size=given, max_size=given).filter(any))
            shares = tuple(each / sum(weights) for each in weights) if grouping is Grouping.CUSTOM else ()
            label = str(number) if senders.count(sender) > 1 else ""
            streams.append(Stream(names[sender], names[at], grouping, label, shares))
    return Topology("random", tuple(operators), tuple(streams), draw(st.sampled_from(Engine)))


@st.composite
def profiles_of(draw: st.DrawFn, topology: Topology, name: str) -> OperatorProfile:
    enter = [stream.name for stream in topology.inputs(name)]
    leave = [stream.name for stream in topology.outputs(name)]
    maybe = st.booleans()
    windowed = {out: draw(windows(len(enter))) for out in leave if enter and draw(st.integers(0, 3)) == 0}
    return OperatorProfile(
        name,
        draw(_seconds),
        {out: draw(st.sampled_from([0.0, 0.3, 1.0, 2.5])) for out in leave},
        service_cv2=draw(st.sampled_from([0.0, 0.3, 1.0, 3.0])),
        keys=draw(histograms),
        stream_keys={of: draw(histograms) or KeyHistogram({}) for of in enter if draw(st.integers(0, 3)) == 0},
        stream_service_s={of: draw(_seconds) for of in enter if draw(maybe)},
        input_selectivity={
            out: {of: draw(st.sampled_from([0.0, 0.5, 2.0])) for of in enter}
            for out in leave
            if enter and draw(st.integers(0, 2)) == 0
        },
        windowed=windowed,
        efficiency=draw(efficiencies),
        cpu_s=draw(st.one_of(st.none(), _seconds)),
        polling=None if enter or draw(maybe) else Polling(draw(st.sampled_from([0.0, 0.02, 0.1])), 20),
    )


_seconds = st.sampled_from([0.0, 0.001, 0.004, 0.01, 0.05])


@st.composite
def histograms(draw: st.DrawFn) -> KeyHistogram | None:
    """Of some heavy keys: whole, or with light ones beside, of which the number may be known."""
    shares = {word: draw(st.sampled_from([0.02, 0.1, 0.3])) for word in WORDS[: draw(st.integers(0, 5))]}
    total = sum(shares.values())
    kind = draw(st.integers(0, 3))
    if not shares or kind == 0:
        return None
    if total > 1 or kind == 1:
        shares = {word: share / total for word, share in shares.items()}
    hashes = {word: at * 7 + 1 for at, word in enumerate(shares)} if draw(st.booleans()) else {}
    return KeyHistogram(shares, hashes, draw(st.sampled_from([None, len(shares), 40])))


histograms = histograms()  # type: ignore[assignment]


@st.composite
def windows(draw: st.DrawFn, inputs: int) -> WindowedOutput:
    kinds = [kind for kind in WindowKind if kind is not WindowKind.JOIN or inputs == 2]
    kind, window_s = draw(st.sampled_from(kinds)), draw(st.sampled_from([0.5, 2.0, 20.0]))
    slide_s = window_s / 4 if kind is WindowKind.SLIDING else None
    return WindowedOutput(kind, window_s, draw(st.sampled_from([5, 60])), slide_s, draw(histograms))


@st.composite
def efficiencies(draw: st.DrawFn) -> ScaleEfficiency:
    if draw(st.booleans()):
        return LINEAR
    return ScaleEfficiency(
        draw(st.sampled_from([0.6, 0.9, 1.0, 1.3])),
        draw(st.sampled_from([0.0, 0.0005, 0.01])),
        draw(st.integers(1, 3)),
    )


efficiencies = efficiencies()  # type: ignore[assignment]
