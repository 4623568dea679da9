"""Random installations of one topology with every feature that decides what a plan carries."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from forecasting.arrivals.arrival_source import Arrivals, DailyKeyCounts, Measures, SourceArrivals
from forecasting.arrivals.store import write_history
from forescale.files.profile import write_profile_file
from forescale.settings import Settings
from modeling.inputs.key_histogram import KeyHistogram, KeyType
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.polling import Polling
from modeling.inputs.scale_efficiency import ScaleEfficiency
from modeling.inputs.windowed_output import WindowedOutput, WindowKind
from planner.clock import TraceClock
from planner.packing.registry import PACKERS

NAME = "job"
START, END = datetime(2026, 3, 2, tzinfo=UTC), datetime(2026, 3, 3, tzinfo=UTC)
KEYS = ("storm", "heron", "flink", "spark", "kafka")
SECONDS = st.sampled_from([0.001, 0.004, 0.02])
RATIOS = st.sampled_from([0.3, 1.0, 2.5])


@dataclass(frozen=True)
class Installation:
    """topology: fields of its file. counts: parallelism of the plan in question, which runs. site: of the site file,
    None without one. profiles: of the last calibration. counted: events of each key in the history, by source.
    """

    topology: Mapping[str, Any]
    load_per_s: Mapping[str, float]
    counts: Mapping[str, int]
    site: Mapping[str, Any] | None = None
    profiles: Mapping[str, OperatorProfile] = field(default_factory=dict)
    counted: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    @property
    def plan(self) -> PhysicalPlan:
        return PhysicalPlan(NAME, dict(self.counts))

    def install(self, folder: Path) -> Settings:
        """On a trace clock at END, the end of a day of history, with a simulated cluster that has measured nothing."""
        settings = Settings(home=folder, topologies=folder, mlruns=folder / "mlruns", clock="trace")
        cluster = {"kind": "simulator", "truth": "history", "parallelism": self.counts}
        (folder / f"{NAME}.yaml").write_text(json.dumps({**self.topology, "cluster": cluster}))
        (folder / "plan.yaml").write_text(json.dumps({"topology": NAME, "parallelism": dict(self.counts)}))
        if self.site is not None:
            (folder / "site.yaml").write_text(json.dumps(self.site))
        if self.profiles:
            (folder / "profiles").mkdir(exist_ok=True)
            write_profile_file(folder / "profiles" / f"{NAME}.json", NAME, dict(self.profiles), START.isoformat())
        alive = np.array([[int(START.timestamp()), int(END.timestamp())]], dtype=np.int64) * 1_000_000
        series = {source: SourceArrivals(np.full(24, 10, dtype=np.int64), alive) for source in self.load_per_s}
        days = tuple(DailyKeyCounts(source, date(2026, 3, 2), dict(of), 0) for source, of in self.counted.items())
        arrivals = Arrivals(START, END, 3600, Measures.OFFERED, series, days)
        write_history(arrivals, settings.history_dir, NAME, START, END)
        TraceClock(settings.clock_file).start_at(END)
        return settings


@st.composite
def installations(draw: st.DrawFn) -> Installation:
    """Two to four operators, one or two of them sources."""
    size = draw(st.sampled_from([3, 4, 2]))
    streams = _streams(draw, size, draw(st.integers(1, min(2, size - 1))))
    ends = [(stream["from"], stream["to"]) for stream in streams]
    names = sorted({name for each in ends for name in each})
    operators = {name: draw(_operators()) for name in names}
    load = {name: draw(st.sampled_from([1.0, 3.0])) for name in names if name not in {to for _, to in ends}}
    stream_names = [_name(stream) for stream in streams]
    site = draw(st.none() | _sites(stream_names))
    topology: dict[str, Any] = {"topology": NAME, "operators": operators, "streams": streams}
    topology["engine"] = draw(st.sampled_from(["flink", "storm", "heron"]))
    topology["planning"] = {"max_parallelism": dict.fromkeys(operators, 6)} if draw(st.booleans()) else {}
    topology["sources"] = {name: {"partitions": draw(st.integers(1, 4))} for name in load if draw(st.booleans())}
    if draw(st.booleans()):
        threads, requests = dict.fromkeys(names, 4), {name: f'requests{{job="{name}"}}' for name in names}
        topology["services"] = {"threads": threads, "requests": requests, "calls": dict.fromkeys(stream_names, "calls")}
    if draw(st.booleans()) or site is not None:
        topology["packing"] = draw(_packings()) | ({"site": "site.yaml"} if site is not None else {})
    profiles = {name: _profile(draw, name, streams) for name in names if draw(st.booleans())}
    counted = {name: draw(_COUNTS_OF_KEYS) for name in load if draw(st.booleans())}
    fixed = {stream["to"]: len(stream["shares"]) for stream in streams if "shares" in stream}
    counts = {name: fixed.get(name) or draw(st.integers(1, 5)) for name in names}
    return Installation(topology, load, counts, site, profiles, counted)


_COUNTS_OF_KEYS = st.dictionaries(st.sampled_from(KEYS), st.integers(1, 50), min_size=1)
_SHARES = st.dictionaries(st.sampled_from(KEYS), st.sampled_from([0.05, 0.2]), min_size=1)


def _streams(draw: st.DrawFn, size: int, sources: int) -> list[dict[str, Any]]:
    """Every operator that is no source reads one or two streams, of other operators or twice of the same."""
    groupings = ["fields", "shuffle", "fields", "local_or_shuffle", "all", "forward", "rescale", "global", "custom"]
    streams = []
    for at in range(sources, size):
        senders = draw(st.lists(st.integers(0, at - 1), min_size=1, max_size=2))
        shares = draw(st.sampled_from([(1.0,), (0.75, 0.25), (0.5, 0.25, 0.25)]))
        for number, sender in enumerate(senders):
            grouping = draw(st.sampled_from(groupings))
            stream = {"from": f"o{sender}", "to": f"o{at}", "grouping": grouping, "selectivity": draw(RATIOS)}
            stream |= {"shares": shares} if grouping == "custom" else {}
            streams.append(stream | ({"label": "again"} if number and sender == senders[0] else {}))
    return streams


def _name(stream: Mapping[str, Any]) -> str:
    return f"{stream['from']}->{stream['to']}" + (f":{stream['label']}" if "label" in stream else "")


@st.composite
def _operators(draw: st.DrawFn) -> dict[str, Any]:
    entry: dict[str, Any] = {"service_s": draw(SECONDS), "cores": 0.25, "memory_mib": 64}
    if draw(st.booleans()):
        entry |= {"key_shares": draw(_SHARES), "distinct_keys": 100}
    if draw(st.booleans()):
        entry |= {"key_type": draw(st.sampled_from(["string", "other"])), "state_gib": 1.0, "service_cv2": 0.5}
    return entry


def _profile(draw: st.DrawFn, name: str, streams: Sequence[Mapping[str, Any]]) -> OperatorProfile:
    """A calibration with what it measures of such an operator, here and there."""
    inputs = [_name(stream) for stream in streams if stream["to"] == name]
    outputs = [_name(stream) for stream in streams if stream["from"] == name]
    of: dict[str, Any] = {"selectivity": {stream: draw(RATIOS) for stream in outputs}}
    if inputs and draw(st.booleans()):
        of["stream_service_s"] = {stream: draw(SECONDS) for stream in inputs}
    if len(inputs) > 1 and draw(st.booleans()):
        of["input_selectivity"] = {out: {stream: draw(RATIOS) for stream in inputs} for out in outputs}
    if inputs and outputs and draw(st.booleans()):
        kind = WindowKind.JOIN if len(inputs) == 2 and draw(st.booleans()) else WindowKind.TUMBLING
        of["windowed"] = {stream: WindowedOutput(kind, 1.0, 100) for stream in outputs}
    if inputs and draw(st.booleans()):
        keys = KeyHistogram(draw(_SHARES), key_type=KeyType.OTHER, measured_at=draw(st.none() | st.integers(2, 5)))
        of["stream_keys"] = {inputs[0]: keys}
    if not inputs and draw(st.booleans()):
        of["polling"] = Polling(0.01, 5)
    if draw(st.booleans()):
        of["efficiency"] = ScaleEfficiency(draw(st.sampled_from([0.7, 1.0])), 0.0001, draw(st.integers(1, 3)))
    if draw(st.booleans()):
        of |= {"cpu_s": 0.002, "memory_mib": 32.0, "memory_mib_s": 0.1}
    seconds = draw(SECONDS)
    intervals = {"service_s": (seconds / 2, 2 * seconds)}
    return OperatorProfile(name, seconds, samples=6, intervals=intervals, **of)


@st.composite
def _packings(draw: st.DrawFn) -> dict[str, Any]:
    packer = draw(st.sampled_from(sorted(PACKERS)))
    packing: dict[str, Any] = {"packer": packer, "slots": 2, "evenly": draw(st.booleans())}
    packing |= {"containers": 2} if packer in ("even_spread", "round_robin") else {"max_containers": 8}
    if draw(st.booleans()):
        packing["cores"] = draw(st.sampled_from([0.75, 4.0]))
    if draw(st.booleans()):
        packing["padding"] = 0.1
    return packing


@st.composite
def _sites(draw: st.DrawFn, streams: list[str]) -> dict[str, Any]:
    site: dict[str, Any] = {"containers": draw(st.sampled_from([{}, {"cores": 0.75}, {"cores": 2, "memory_mib": 512}]))}
    if draw(st.booleans()):
        site["streams"] = {name: {"serialisation_s": 0.001} for name in streams}
    if draw(st.booleans()):
        site["nodes"] = {node: {"service_factor": draw(st.sampled_from([0.5, 1.0, 2.0]))} for node in ("n1", "n2")}
        if draw(st.booleans()):
            width = draw(st.sampled_from([0.5, 100.0]))
            ways = [("n1", "n2"), ("n2", "n1")]
            link = {"delay_ms": 1.0, "bandwidth_mbit_per_s": width}
            site["links"] = [{"from": first, "to": second, **link} for first, second in ways]
            site["streams"] = {name: {"bytes_per_tuple": 1000.0} for name in streams}
    return site
