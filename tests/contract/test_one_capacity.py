"""A plan has one capacity in one situation: `evaluate`, the ladder of `plan` and `edit`, the guard, the planner of the
replay and its reality, and the what-if page agree, and follow every source of a value alike.
"""

import contextlib
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from guard_windows import spread
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from forecasting.arrivals.arrival_source import Arrivals, DailyKeyCounts, Measures, SourceArrivals
from forecasting.arrivals.store import write_history
from forescale.cli.evaluate import what_if
from forescale.cli.main import main
from forescale.files.profile import write_profile_file
from forescale.jobs.evaluation import Terms, evaluation
from forescale.jobs.evaluation_load import EvaluatedLoad
from forescale.report.whatif.numbers import curves
from forescale.settings import Settings
from forescale.situation.known_guard import known_guard
from forescale.situation.situation import Situation
from forescale.situation.workspace import Workspace
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.targets import Targets
from planner.clusters.engine_terms import EngineTerms
from planner.errors import PlanError
from planner.guard.sizing import Sizing
from planner.horizon.ladder import ladder_of
from planner.limits import Limits
from planner.replay.capacity import capacity_per_s
from planner.replay.need import Need
from planner.replay.reality import Differences, Reality

NAME = "job"
START, END = datetime(2026, 3, 2, tzinfo=UTC), datetime(2026, 3, 3, tzinfo=UTC)
KEYS = ("storm", "heron", "flink", "spark", "kafka")


@dataclass(frozen=True)
class Installation:
    """topology: fields of its file. site: of the site file, None without one. profiles: of the last calibration.
    counted: events of each key in the history, by source.
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
        settings = Settings(home=folder, topologies=folder, mlruns=folder / "mlruns")
        (folder / f"{NAME}.yaml").write_text(json.dumps(self.topology))
        (folder / "plan.yaml").write_text(json.dumps({"topology": NAME, "parallelism": dict(self.counts)}))
        if self.site is not None:
            (folder / "site.yaml").write_text(json.dumps(self.site))
        if self.profiles:
            (folder / "profiles").mkdir(exist_ok=True)
            write_profile_file(folder / "profiles" / f"{NAME}.json", NAME, self.profiles, START.isoformat())
        if self.counted:
            alive = np.array([[int(START.timestamp()), int(END.timestamp())]], dtype=np.int64) * 1_000_000
            series = {source: SourceArrivals(np.full(24, 10, dtype=np.int64), alive) for source in self.load_per_s}
            days = tuple(DailyKeyCounts(source, date(2026, 3, 2), dict(of), 0) for source, of in self.counted.items())
            arrivals = Arrivals(START, END, 3600, Measures.OFFERED, series, days)
            write_history(arrivals, settings.history_dir, NAME, START, END)
        return settings


def evaluated(settings: Settings, installed: Installation, *options: str) -> dict[str, Any] | str:
    """The answer of the command, or its error."""
    plan, out, err = str(settings.home / "plan.yaml"), io.StringIO(), io.StringIO()
    loads = [word for source, rate in installed.load_per_s.items() for word in ("--load", f"{source}={rate!r}")]
    arguments = ["evaluate", "--topology", str(settings.home / f"{NAME}.yaml"), "--plan", plan, *loads]
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        contextlib.suppress(SystemExit),
    ):
        patch.setenv("FORESCALE_HOME", str(settings.home))
        main([*arguments, "--draws", "20", "--json", *options])
    if not out.getvalue():
        return err.getvalue()
    answer: dict[str, Any] = json.loads(out.getvalue())[plan]
    return answer


def answers(settings: Settings, situation: Situation, installed: Installation) -> dict[str, float]:
    """The capacity over all sources in the mix of the load, by whom it is asked."""
    load, plan, model = dict(installed.load_per_s), installed.plan, situation.model
    total, topology = sum(load.values()), situation.topology
    mix = np.array([[load[source] / total] for source in topology.sources])
    rates = mix.T * total
    guard = known_guard(Workspace(settings), situation.config).terms.model
    assert guard is not None
    contest = Reality(model, EngineTerms(30.0), Differences(), 0.0, 3600.0)
    terms = Terms(EvaluatedLoad(load), situation.site.file, Targets(max_lag_s=60.0), draws=20)
    placed = {"plan": situation.packed(plan)}
    profiles = situation.profiles
    page = what_if(topology, profiles, placed, {"plan": evaluation(topology, profiles, placed["plan"], terms)}, terms)
    return {
        "ladder": float(ladder_of([plan], model).capacity_per_s(mix)[0, 0]),
        "step": total * model.estimate(plan, load).headroom_factor,
        "guard": guard.capacity_per_s(plan, load),
        "replay": float(capacity_per_s(contest.network(plan.parallelism, 0.0), rates)[0]),
        "need": Need(model, Limits()).model.capacity_per_s(plan, load),
        "page": curves(page).plans["plan"].mst_per_s,
    }


@st.composite
def installations(draw: st.DrawFn) -> Installation:
    """Two to four operators, one or two of them sources."""
    size = draw(st.integers(2, 4))
    sources = draw(st.integers(1, min(2, size - 1)))
    names = [f"o{at}" for at in range(size)]
    seconds = st.sampled_from([0.001, 0.004, 0.02])
    streams = []
    for at in range(sources, size):
        for sender in draw(st.lists(st.integers(0, at - 1), min_size=1, max_size=2, unique=True)):
            grouping = draw(st.sampled_from(["shuffle", "fields", "fields", "local_or_shuffle", "all", "forward"]))
            ratio = draw(st.sampled_from([0.3, 1.0, 2.5]))
            streams.append({"from": names[sender], "to": names[at], "grouping": grouping, "selectivity": ratio})
    fed = {stream["to"] for stream in streams} | {stream["from"] for stream in streams}
    operators = {name: draw(operators_of(seconds)) for name in names if name in fed}
    entering = {stream["to"] for stream in streams}
    load = {name: draw(st.sampled_from([1.0, 3.0])) for name in operators if name not in entering}
    site = draw(st.none() | sites([f"{each['from']}->{each['to']}" for each in streams]))
    topology: dict[str, Any] = {"topology": NAME, "operators": operators, "streams": streams}
    topology["engine"] = draw(st.sampled_from(["flink", "storm", "heron"]))
    topology["planning"] = {"max_parallelism": dict.fromkeys(operators, 6)} if draw(st.booleans()) else {}
    if draw(st.booleans()) or site is not None:
        packer = draw(st.sampled_from(["flink_slots", "even_spread", "first_fit_decreasing", "resource_compliant"]))
        sizes = {"containers": 2} if packer == "even_spread" else {"max_containers": 8}
        topology["packing"] = {"packer": packer, "slots": 2, **sizes} | ({"site": "site.yaml"} if site else {})
    calibrated = draw(st.lists(st.sampled_from(sorted(operators)), unique=True))
    profiles = {
        name: OperatorProfile(name, s := draw(seconds), samples=6, intervals={"service_s": (s / 2, 2 * s)})
        for name in calibrated
    }
    counted = {name: draw(counts_of_keys) for name in load if draw(st.booleans())}
    counts = {name: draw(st.integers(1, 5)) for name in operators}
    return Installation(topology, load, counts, site, profiles, counted)


counts_of_keys = st.dictionaries(st.sampled_from(KEYS), st.integers(1, 50), min_size=1)


@st.composite
def operators_of(draw: st.DrawFn, seconds: st.SearchStrategy[float]) -> dict[str, Any]:
    entry: dict[str, Any] = {"service_s": draw(seconds), "cores": 0.25, "memory_mib": 64}
    if draw(st.booleans()):
        shares = draw(st.dictionaries(st.sampled_from(KEYS), st.sampled_from([0.05, 0.2]), min_size=1))
        entry |= {"key_shares": shares, "distinct_keys": 100}
    return entry


@st.composite
def sites(draw: st.DrawFn, streams: list[str]) -> dict[str, Any]:
    site: dict[str, Any] = {"containers": draw(st.sampled_from([{}, {"cores": 0.75}, {"cores": 2}]))}
    if draw(st.booleans()):
        site["nodes"] = {node: {"service_factor": draw(st.sampled_from([0.5, 1.0, 2.0]))} for node in ("n1", "n2")}
        if draw(st.booleans()):
            width = draw(st.sampled_from([0.5, 100.0]))
            site["links"] = [
                {"from": "n1", "to": "n2", "delay_ms": 1.0, "bandwidth_mbit_per_s": width},
                {"from": "n2", "to": "n1", "delay_ms": 1.0, "bandwidth_mbit_per_s": width},
            ]
            site["streams"] = {name: {"bytes_per_tuple": 1000.0} for name in streams}
    return site


@hypothesis_settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(installations())
def test_a_plan__has_one_capacity_whoever_is_asked(installed: Installation) -> None:
    with TemporaryDirectory() as folder:
        settings = installed.install(Path(folder))
        answer = evaluated(settings, installed)
        try:
            situation = Workspace(settings).situation(NAME)
            placed = situation.packed(installed.plan)
        except PlanError:
            assert isinstance(answer, str)
            assert answer.startswith("forescale: ")
            return
        assert isinstance(answer, dict), answer
        expected = sum(answer["mst_per_s"].values())
        assert answers(settings, situation, installed) == pytest.approx(dict.fromkeys(ASKED, expected))
        # The guard's plan, too, is carried as `evaluate` says.
        model = situation.model
        window = spread(situation.topology, model, placed, {s: 2 * r for s, r in installed.load_per_s.items()})
        sizing = Sizing(window, known_guard(Workspace(settings), situation.config).terms)
        grown = sizing.grown()
        if grown != dict(installed.counts) and model.raised(
            grown, sizing.need_per_s, situation.topology.max_parallelism, 64
        ):
            carried = model.capacity_per_s(PhysicalPlan(NAME, grown), installed.load_per_s)
            assert carried >= sum(sizing.need_per_s.values()) * (1 - 1e-6) or sum(grown.values()) == 64


ASKED = ("ladder", "step", "guard", "replay", "need", "page")


SKEWED = Installation(
    topology={
        "topology": NAME,
        "operators": {
            "read": {"service_s": 0.0001, "cores": 0.1, "memory_mib": 64},
            "join": {"service_s": 0.1, "cores": 0.9, "memory_mib": 64},
        },
        "streams": [{"from": "read", "to": "join", "grouping": "fields"}],
        "packing": {"packer": "flink_slots", "slots": 2, "site": "site.yaml"},
    },
    load_per_s={"read": 1.0},
    counts={"read": 1, "join": 4},
    site={"containers": {"cores": 4}},
)
"""Four instances of .1 s a tuple in two containers: 40/s with even keys."""


def capacities(installed: Installation, folder: Path, *options: str) -> tuple[float, set[float]]:
    """Of `evaluate`, and of all others."""
    folder.mkdir()
    settings = installed.install(folder)
    answer = evaluated(settings, installed, *options)
    assert isinstance(answer, dict), answer
    situation = Workspace(settings).situation(NAME)
    if options:
        situation = situation.with_site(Path(options[1]), options[0])
    others = answers(settings, situation, installed)
    return answer["mst_per_s"]["read"], {round(others[name], 6) for name in ASKED if not (options and name == "guard")}


def changed(**of: Any) -> Installation:
    return Installation(**{**SKEWED.__dict__, **of})


def with_topology(**of: Any) -> Installation:
    return changed(topology={**SKEWED.topology, **of})


def joining(**of: Any) -> Installation:
    operators = SKEWED.topology["operators"]
    return with_topology(operators={**operators, "join": {**operators["join"], **of}})


CALIBRATED = {"join": OperatorProfile("join", 0.2, samples=6, intervals={"service_s": (0.19, 0.21)})}
ALONE = {"storm": 1}
"""All events have one key, so that one instance does all the work."""


@pytest.mark.parametrize(
    ("installed", "expected_per_s"),
    [
        (SKEWED, 40.0),
        (joining(service_s=0.05), 80.0),
        (joining(key_shares={"storm": 1.0}), 10.0),
        (changed(profiles=CALIBRATED), 20.0),
        (changed(counted={"read": ALONE}), 10.0),
        # The container of read and two of four joins takes .0001 + .1 / 2 s of CPU a tuple of its half core.
        (changed(site={"containers": {"cores": 0.5}}), 0.5 / 0.0501),
        (changed(site={"containers": {"cores": 4}, "nodes": {"old": {"service_factor": 2}}}), 20.0),
        # 8 slots take all of it into one container
        (
            changed(
                topology={**SKEWED.topology, "packing": {"packer": "flink_slots", "slots": 8, "site": "site.yaml"}},
                site={"containers": {"cores": 0.5}},
            ),
            0.5 / 0.1001,
        ),
    ],
    ids=["as it is", "file", "keys of the file", "calibration", "counted keys", "cores", "site speeds", "packing"],
)
def test_a_value_changed_in_any_source__changes_all_answers_alike(
    tmp_path: Path, installed: Installation, expected_per_s: float
) -> None:
    one, others = capacities(installed, tmp_path / "home")
    assert one == pytest.approx(expected_per_s, rel=1e-6)
    assert others == {round(one, 6)}


def test_an_option__changes_all_answers_of_its_command(tmp_path: Path) -> None:
    other = tmp_path / "slow.yaml"
    other.write_text(json.dumps({"containers": {"cores": 4}, "nodes": {"old": {"service_factor": 4}}}))
    one, others = capacities(SKEWED, tmp_path / "home", "--site", str(other))
    assert one == pytest.approx(10.0)
    assert others == {round(one, 6)}
