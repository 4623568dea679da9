"""A plan has one capacity in one situation: `evaluate`, the ladder of `plan` and `edit`, the guard, the planner of the
replay and its reality, and the what-if page agree, and follow every source of a value alike.
"""

import contextlib
import io
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from certain_forecast import certain_forecast
from guard_windows import spread
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from installations import END, NAME, START, Installation, installations
from service_cases import MST_PER_S

from forescale.cli.evaluate import what_if
from forescale.cli.main import main
from forescale.jobs.evaluation import Terms, evaluation
from forescale.jobs.evaluation_load import EvaluatedLoad
from forescale.jobs.planning_case import calibrated_situation, planning_case, running_start
from forescale.report.whatif.numbers import curves
from forescale.settings import Settings
from forescale.situation.known_guard import known_guard
from forescale.situation.situation import Situation
from forescale.situation.workspace import Workspace
from modeling.evaluate import evaluate
from modeling.inputs.key_histogram import KeyHistogram
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.polling import Polling
from modeling.inputs.scale_efficiency import ScaleEfficiency
from modeling.inputs.targets import Targets
from planner.clusters.engine_terms import EngineTerms
from planner.errors import PlanError
from planner.guard.sizing import Sizing
from planner.horizon.ladder import ladder_of
from planner.limits import Limits
from planner.plan_model import PlanModel
from planner.replay.capacity import capacity_per_s
from planner.replay.need import Need
from planner.replay.reality import Differences, Reality


def evaluated(settings: Settings, installed: Installation, *options: str) -> dict[str, Any] | str:
    """The answer of the command, or its error."""
    plan, out = str(settings.home / "plan.yaml"), io.StringIO()
    loads = [word for source, rate in installed.load_per_s.items() for word in ("--load", f"{source}={rate!r}")]
    arguments = ["model", "evaluate", str(settings.home / f"{NAME}.yaml"), "--plan", plan, *loads]
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(io.StringIO()),
        contextlib.suppress(SystemExit),
    ):
        patch.setenv("FORESCALE_HOME", str(settings.home))
        main([*arguments, "--json", *options])
    said: dict[str, Any] = json.loads(out.getvalue())
    answer: dict[str, Any] | str = said.get("error") or said[plan]
    return answer


def case_model(settings: Settings, installed: Installation) -> PlanModel:
    """By which `plan` and `edit` judge changes."""
    workspace = Workspace(settings)
    config = workspace.config(NAME)
    forecasts = {
        source: certain_forecast(
            NAME, source, np.full(4, rate), step_s=900, horizon_s=3600, issued_at=END, trained_from=START
        )
        for source, rate in installed.load_per_s.items()
    }
    cluster = workspace.cluster(config)
    start = running_start(cluster.state())
    assert start.plan == installed.plan
    calibrated = calibrated_situation(workspace, workspace.situation(config, END), cluster)
    return planning_case(workspace, calibrated, cluster, forecasts, start).model


def answers(settings: Settings, situation: Situation, installed: Installation) -> dict[str, float]:
    """The capacity over all sources in the mix of the load, by whom it is asked."""
    load, plan, model = dict(installed.load_per_s), installed.plan, situation.model
    deciding = case_model(settings, installed)
    total, topology = sum(load.values()), situation.topology
    mix = np.array([[load[source] / total] for source in topology.sources])
    rates = mix.T * total
    guard = known_guard(Workspace(settings), situation.config).terms.model
    assert guard is not None
    contest = Reality(model, EngineTerms(30.0), Differences(), 0.0, 3600.0, load)
    terms = Terms(EvaluatedLoad(load), situation.site.file, Targets(max_lag_s=60.0), draws=20)
    placed = {"plan": situation.packed(plan)}
    profiles = situation.profiles
    page = what_if(topology, profiles, placed, {"plan": evaluation(topology, profiles, placed["plan"], terms)}, terms)
    return {
        "ladder": float(ladder_of([plan], deciding, load_per_s=load).capacity_per_s(mix)[0, 0]),
        "step": total
        * deciding.estimate(plan, load).headroom_factor
        * float(deciding.share_by_threads([plan], load)[0]),
        "guard": guard.capacity_per_s(plan, load),
        "replay": float(capacity_per_s(contest.network(plan.parallelism, 0.0), rates)[0]),
        "need": Need(model, Limits()).model.capacity_per_s(plan, load),
        "page": curves(page).plans["plan"].mst_per_s,
    }


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
            return
        assert isinstance(answer, dict), answer
        by_busyness = evaluate(
            situation.topology, situation.profiles, placed, installed.load_per_s, site=situation.site.file.site
        )
        busy_per_s, saturation = sum(by_busyness.mst_per_s.values()), answer["saturation"]
        expected = min(busy_per_s, sum(saturation["mst_per_s"].values())) if saturation else busy_per_s
        assert sum(answer["mst_per_s"].values()) == pytest.approx(expected)
        # The what-if page is about operators of a stream, and says in a note what threads let through.
        of_all = dict.fromkeys(ASKED, expected) | {"page": busy_per_s}
        assert answers(settings, situation, installed) == pytest.approx(of_all)
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
WITH_OPTIONS = ("replay", "need", "page")
"""`plan`, `edit` and the guard take no site by an option."""


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
    return answer["mst_per_s"]["read"], {round(others[name], 6) for name in (WITH_OPTIONS if options else ASKED)}


def changed(**of: Any) -> Installation:
    return Installation(**{**SKEWED.__dict__, **of})


def with_topology(**of: Any) -> Installation:
    return changed(topology={**SKEWED.topology, **of})


def joining(**of: Any) -> Installation:
    operators = SKEWED.topology["operators"]
    return with_topology(operators={**operators, "join": {**operators["join"], **of}})


def calibrated(service_s: float = 0.1, **of: Any) -> Installation:
    """With a calibration of the join."""
    intervals = {"service_s": (0.9 * service_s, 1.1 * service_s)}
    return changed(profiles={"join": OperatorProfile("join", service_s, samples=6, intervals=intervals, **of)})


def reading(**of: Any) -> Installation:
    """With a calibration of the source."""
    intervals = {"service_s": (0.00009, 0.00011)}
    return changed(profiles={"read": OperatorProfile("read", 0.0001, samples=6, intervals=intervals, **of)})


def packed(site: dict[str, Any], **of: Any) -> Installation:
    """With another section `packing`."""
    packing = {**SKEWED.topology["packing"], **of}
    return changed(topology={**SKEWED.topology, "packing": packing}, site=site)


ALONE = {"storm": 1}
"""All events have one key, so that one instance does all the work."""


@pytest.mark.parametrize(
    ("installed", "expected_per_s"),
    [
        (SKEWED, 40.0),
        (joining(service_s=0.05), 80.0),
        (with_topology(streams=[{**SKEWED.topology["streams"][0], "selectivity": 2.0}]), 20.0),
        (joining(key_shares={"storm": 1.0}), 10.0),
        (calibrated(0.2), 20.0),
        # One tuple every .1 s.
        (reading(polling=Polling(0.1, 1)), 10.0),
        # Four instances take .1 s x 4 ** .5 each.
        (calibrated(efficiency=ScaleEfficiency(0.5)), 20.0),
        (calibrated(stream_keys={"read->join": KeyHistogram({"heaviest": 1.0}, measured_at=4)}), 10.0),
        # The container of read and two of four joins takes .0001 + .5 / 2 s of CPU a tuple of its four cores.
        (calibrated(cpu_s=0.5), 4 / 0.2501),
        (changed(counted={"read": ALONE}), 10.0),
        # As before, .0001 + .1 / 2 s of its half core.
        (changed(site={"containers": {"cores": 0.5}}), 0.5 / 0.0501),
        (packed({"containers": {"cores": 4}}, cores=0.5), 0.5 / 0.0501),
        (changed(site={"containers": {"cores": 4}, "nodes": {"old": {"service_factor": 2}}}), 20.0),
        # 8 slots take all of it into one container
        (packed({"containers": {"cores": 0.5}}, slots=8), 0.5 / 0.1001),
    ],
    ids=[
        "as it is",
        "file",
        "selectivity of the file",
        "keys of the file",
        "calibration",
        "polling",
        "efficiency",
        "measured shares",
        "measured CPU",
        "counted keys",
        "cores",
        "cores of the packing",
        "site speeds",
        "packing",
    ],
)
def test_a_value_changed_in_any_source__changes_all_answers_alike(
    tmp_path: Path, installed: Installation, expected_per_s: float
) -> None:
    one, others = capacities(installed, tmp_path / "home")
    assert one == pytest.approx(expected_per_s, rel=1e-6)
    assert others == {round(one, 6)}


@pytest.mark.parametrize("threads", [4, 8])
def test_threads_of_services__move_no_capacity_as_service_times_are_per_replica(tmp_path: Path, threads: int) -> None:
    """A replica serves threads / holding_s, and service_s is holding_s / threads: the threads cancel, and matter only
    when samples are measured and in `evaluate`, which asks where services saturate with other threads.
    """
    names = ("read", "join")
    section = {"threads": dict.fromkeys(names, threads), "requests": {name: f"of_{name}" for name in names}}
    one, others = capacities(with_topology(services=section), tmp_path / "home")
    assert one == pytest.approx(40.0)
    assert others == {round(one, 6)}


def test_threads_that_wait_for_calls__bound_a_plan_whoever_is_asked(tmp_path: Path) -> None:
    """As worked out in tests/service_cases.py; by its busyness alone the plan would carry 5 a second."""
    section = {"threads": {"read": 2, "join": 1}, "routing": "random", "requests": {"read": "a", "join": "b"}}
    operators = {"read": {"service_s": 0.2}, "join": {"service_s": 0.3}}
    topology = {"topology": NAME, "operators": operators, "streams": [{"from": "read", "to": "join"}]}
    shop = changed(topology={**topology, "services": section}, counts={"read": 1, "join": 2}, site=None)
    (tmp_path / "home").mkdir()
    settings = shop.install(tmp_path / "home")
    answer = evaluated(settings, shop)
    assert isinstance(answer, dict)
    assert (answer["mst_per_s"], answer["saturation"]["mst_per_s"]) == (
        pytest.approx({"read": MST_PER_S}),
        pytest.approx({"read": MST_PER_S}),
    )
    others = answers(settings, Workspace(settings).situation(NAME), shop)
    assert others == pytest.approx(dict.fromkeys(ASKED, MST_PER_S) | {"page": 5.0})


def test_an_option__changes_all_answers_of_its_command(tmp_path: Path) -> None:
    other = tmp_path / "slow.yaml"
    other.write_text(json.dumps({"containers": {"cores": 4}, "nodes": {"old": {"service_factor": 4}}}))
    one, others = capacities(SKEWED, tmp_path / "home", "--site", str(other))
    assert one == pytest.approx(10.0)
    assert others == {round(one, 6)}
