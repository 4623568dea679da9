"""`forescale model calibrate`: from samples in files to the profile file, and one line where that cannot be."""

import hashlib
import itertools
import json
import math
import resource
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from sampled_words import samples, words_file

from forecasting.errors import TrackingError
from forescale.cli import main
from forescale.files.profile import read_profile_file, write_profile_file
from forescale.files.topology import TopologyConfig, read_topology_file
from forescale.jobs.calibrate import planning_profiles
from forescale.jobs.planning_case import Start, question_of
from forescale.jobs.rungs import Basis
from forescale.places import PROJECT
from forescale.report.kit.decision_words import causes_words
from forescale.settings import Settings
from forescale.situation.known_profiles import drift_digest, known_profiles, profile_path
from forescale.situation.workspace import Workspace
from modeling.calibration.operator_sample import OperatorSample
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.scale_efficiency import ScaleEfficiency
from planner.decision_basis import CalibrationFacts, DecisionBasis, Rung
from planner.errors import ClusterError, NotMeasurableError


@pytest.fixture(scope="module")
def mlruns(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One store for all: to make one takes seconds."""
    return tmp_path_factory.mktemp("mlruns")


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, mlruns: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORESCALE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("FORESCALE_MLRUNS", str(mlruns))


@pytest.fixture
def topology(tmp_path: Path) -> Path:
    return words_file(tmp_path)


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["model", "calibrate", *arguments])
    assert isinstance(ended.value.code, int)
    return ended.value.code


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    assert run(*arguments, "--json") == 0
    made = json.loads(capsys.readouterr().out)
    assert isinstance(made, dict)
    return made


def fails(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run(*arguments) == 1
    written = capsys.readouterr()
    assert written.err.startswith("forescale: ")
    assert "Traceback" not in written.err
    return written.err


def test_calibrate__writes_the_profiles_with_their_intervals(
    topology: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "m.json"
    made = answer(capsys, str(topology), "--samples", str(samples(tmp_path)), "--out", str(out))
    assert made["model_version"] == ""  # a trial beside that of the planner
    split = made["operators"]["split"]  # type: ignore[index]
    # The first span of both instances began at an age of 0: 10 of 12 samples are used.
    assert (split["used"], len(split["dropped"]), split["censored"]) == (10, 2, [])
    profile = read_profile_file(out)["split"]
    assert profile.service_s == split["service_s"] == pytest.approx(0.004)
    assert profile.selectivity == {"split->count": pytest.approx(5.0)}
    low, high = profile.intervals["service_s"]
    # ± t(0.975, 9) = 2.262 times 1 % · √(10/9) / √10 of 4 ms, and 1.96 times 5 %, by which sittings differ
    assert (high - low) / 2 == pytest.approx(math.hypot(2.262 * 0.00004 / 3, 1.96 * 0.05 * 0.004), rel=1e-3)
    assert split["intervals"]["service_s"] == [low, high]
    # What no sample tells of is as it was declared.
    assert read_profile_file(out)["count"].service_s == 0.002
    assert list(tmp_path.glob("*.part")) == []


def test_calibrate__of_a_home_elsewhere_records_in_that_home_and_not_in_the_checkout(
    topology: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FORESCALE_MLRUNS")
    recorded = answer(capsys, str(topology), "--samples", str(samples(tmp_path)))
    assert recorded["model_version"] == "calibration-words/1"
    own = tmp_path / "home" / "mlruns"
    with closing(sqlite3.connect(own / "mlflow.db")) as store:
        ((artifacts,),) = store.execute("SELECT artifact_uri FROM runs").fetchall()
    assert artifacts.startswith(own.as_uri())
    if (shared := PROJECT / "mlruns" / "mlflow.db").exists():
        with closing(sqlite3.connect(f"{shared.as_uri()}?mode=ro", uri=True)) as store:
            assert store.execute("SELECT 1 FROM runs WHERE artifact_uri = ?", (artifacts,)).fetchall() == []


def test_calibrate__tells_people_what_it_used_and_what_not(
    topology: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = str(samples(tmp_path, held_s=20.0))
    assert run(str(topology), "--samples", given) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "0.004 s [0.00361, 0.00439]" in shown
    assert "split: dropped 2: started 0 s before, less than 20 s" in shown
    assert "split: censored 10: backpressured for 33% of its span" in shown
    assert "count: not measured: no sample of it can be used" in shown
    assert f"profiles: {tmp_path / 'home' / 'profiles' / 'words.json'}" in shown


def test_calibrate__tells_what_has_drifted_since_the_last_time(
    topology: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = (str(topology), "--samples")
    assert answer(capsys, *base, str(samples(tmp_path)))["drifts"] == []
    (drift,) = answer(capsys, *base, str(samples(tmp_path, 0.005)))["drifts"]  # type: ignore[misc]
    assert (drift["operator"], drift["parameter"]) == ("split", "service_s")
    assert drift["relative_change"] == pytest.approx(0.25)
    assert drift["remedy"]
    # Against the file that was just written there is none; afresh there is nothing to compare with.
    last = tmp_path / "home" / "profiles" / "words.json"
    assert answer(capsys, *base, str(samples(tmp_path, 0.005)), "--against", str(last))["drifts"] == []
    assert answer(capsys, *base, str(samples(tmp_path, 0.001)), "--against", "none")["drifts"] == []


def test_calibrate__names_a_drift_before_it_keeps_the_profiles(
    topology: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = (str(topology), "--samples")
    answer(capsys, *base, str(samples(tmp_path)))
    settings, config = Settings(), read_topology_file(topology)
    before = drift_digest(config, settings)
    drifted = samples(tmp_path, 0.005)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))  # as a kill between the two files
    try:
        assert run(*base, str(drifted)) == 1
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    assert drift_digest(config, settings) != before
    answer(capsys, *base, str(drifted))
    whole = hashlib.sha256(profile_path(config, settings).read_bytes()).hexdigest()
    assert drift_digest(config, settings) == whole[:12]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--samples", "none.csv"], "none.csv cannot be read"),
        (["--samples", "a.csv", "--against", "none.json"], "profile file none.json cannot be read"),
    ],
)
def test_calibrate__says_in_a_line_what_is_wrong_and_leaves_the_profiles(
    topology: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    out = tmp_path / "m.json"
    out.write_text("as it was")
    assert said in fails(capsys, str(topology), "--out", str(out), *options)
    assert out.read_text() == "as it was"


def test_calibrate__tells_all_in_json_though_the_store_does_not_answer(
    topology: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> str:
        raise TrackingError("MLflow is away")

    monkeypatch.setattr("forescale.cli.calibrate.kept", away)
    out = tmp_path / "home" / "profiles" / "words.json"
    given = (str(topology), "--samples", str(samples(tmp_path)))
    assert run(*given, "--json") == 1
    written = capsys.readouterr()
    made = json.loads(written.out)
    assert made["operators"]["split"]["service_s"] == read_profile_file(out)["split"].service_s
    assert (made["model_version"], made["tracking_error"]) == ("", "MLflow is away")
    assert written.err == "forescale: MLflow is away\n"
    # People are told the calibration first.
    assert run(*given) == 1
    written = capsys.readouterr()
    assert f"profiles: {out}" in "".join(written.out.splitlines())
    assert written.err == "forescale: MLflow is away\n"


def test_calibrate__from_samples_that_are_of_no_use_leaves_the_profiles(
    topology: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "m.json"
    young = str(samples(tmp_path, spans=[0]))
    error = fails(capsys, str(topology), "--samples", young, "--out", str(out))
    assert "2 samples, none of them usable" in error
    assert "started 0 s before" in error
    assert error.endswith("calibrate again when the job has run for longer under load\n")
    assert not out.exists()


def test_calibrate__of_a_job_that_takes_in_nothing_says_what_to_look_at(
    topology: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    idle = tmp_path / "idle.csv"
    idle.write_text("operator,index,span_s,busy_s,backpressured_s,records_in\nsplit,0,60,0,0,0\ncount,0,60,0,0,0\n")
    error = fails(capsys, str(topology), "--samples", str(idle))
    assert "split: not measured: 0 tuples in all its samples, at least 100 are needed" in error
    assert "the job took in nothing: see whether its sources receive anything, and calibrate while they do" in error


def test_calibrate__from_samples_needs_neither_arrivals_nor_cluster(
    topology: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = yaml.safe_load(topology.read_text())
    del body["arrivals"], body["cluster"]
    topology.write_text(yaml.safe_dump(body))
    made = answer(capsys, str(topology), "--samples", str(samples(tmp_path)))
    assert made["operators"]["split"]["used"] == 10  # type: ignore[index]
    error = fails(capsys, str(topology))
    assert "words: section cluster is missing; add it to say where the topology runs" in error
    body["cluster"] = {"kind": "flink", "url": "http://127.0.0.1:9", "job": "j"}
    topology.write_text(yaml.safe_dump(body))
    assert "cannot be reached" in fails(capsys, str(topology))


def test_nan_in_a_file__is_named_with_line_and_column(
    topology: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = samples(tmp_path)
    path.write_text(path.read_text().replace("1000,60,", "nan,60,", 1))
    error = fails(capsys, str(topology), "--samples", str(path))
    assert "samples.csv: line 4: records_in: 'nan' is not finite" in error


class Told:
    """A cluster that tells those samples, or an error."""

    def __init__(self, service_s: float | None) -> None:
        self.service_s = service_s

    def operator_samples(self, span_s: float) -> Sequence[OperatorSample]:
        if self.service_s is None:
            raise ClusterError("away")
        return [
            OperatorSample("split", index, 60, 1000 * self.service_s * wobble, 0, 1000, {"split->count": 5000.0})
            for index, wobble in enumerate((0.99, 1.0, 1.01))
        ]


@pytest.fixture
def _untracked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that does not answer: planning goes on without it."""
    monkeypatch.setenv("FORESCALE_MLFLOW_URI", "http://127.0.0.1:9")


@pytest.mark.usefixtures("_untracked")
def test_one_look_that_differs__is_a_note_and_no_alarm(topology: Path) -> None:
    config = read_topology_file(topology)
    its = Workspace(Settings())
    for hour, service_s in enumerate((0.004, 0.006)):
        at = datetime(2026, 1, 5, hour, tzinfo=UTC)
        facts = planning_profiles(its, config, Told(service_s), at).facts  # type: ignore[arg-type]
    alone = CalibrationFacts(version="words/3", contradicted=facts.contradicted)
    assert alone.contradicted == ("split",)
    assert not alone.amiss
    assert causes_words(DecisionBasis(calibration=alone)) == ""


def _calibrate(config: TopologyConfig, service_s: float | None, hour: int = 0) -> tuple[CalibrationFacts, float]:
    at = datetime(2026, 1, 5, hour, tzinfo=UTC)
    made = planning_profiles(Workspace(Settings()), config, Told(service_s), at)  # type: ignore[arg-type]
    return made.facts, made.profiles["split"].service_s


@pytest.mark.usefixtures("_untracked")
def test_job__notes_what_was_never_measured_and_what_has_drifted(topology: Path) -> None:
    config = read_topology_file(topology)
    facts, service_s = _calibrate(config, 0.004)
    assert facts.unmeasured == ("lines", "count")
    assert facts.untracked  # MLflow is not asked in this test
    assert service_s == pytest.approx(0.004)
    facts, service_s = _calibrate(config, 0.006, hour=1)
    assert service_s == pytest.approx(0.004)
    assert (facts.contradicted, facts.drifts) == (("split",), ())
    # A second look says the same.
    facts, service_s = _calibrate(config, 0.006, hour=2)
    assert service_s == pytest.approx(0.006)
    (drift,) = facts.drifts
    assert (drift.operator, drift.parameter) == ("split", "service_s")
    assert (drift.old, drift.new) == (pytest.approx(0.004), pytest.approx(0.006))
    # Out of reach, the last calibration stands.
    facts, service_s = _calibrate(config, None)
    assert (facts.failure, service_s) == ("away", pytest.approx(0.006))


@pytest.mark.usefixtures("_untracked")
def test_job__does_not_take_up_looks_that_contradict_each_other(topology: Path) -> None:
    config = read_topology_file(topology)
    _calibrate(config, 0.004)
    # A busy neighbour: 18 times as slow for a minute, then as before, then for another minute 3 times as slow.
    for hour, service_s in enumerate((0.072, 0.004, 0.072, 0.012), 1):
        facts, believed = _calibrate(config, service_s, hour)
        assert (facts.drifts, believed) == ((), pytest.approx(0.004))


class Uncounted(Told):
    """A cluster that counts no tuples, as Kubernetes."""

    def operator_samples(self, span_s: float) -> Sequence[OperatorSample]:
        raise NotMeasurableError("counts no tuples")


def test_job__raises_no_alarm_at_a_cluster_that_never_measures(topology: Path) -> None:
    at = datetime(2026, 1, 6, tzinfo=UTC)
    made = planning_profiles(Workspace(Settings()), read_topology_file(topology), Uncounted(0.009), at)  # type: ignore[arg-type]
    assert not made.facts.amiss
    assert not made.profiles["split"].samples


class Young(Told):
    """All of whose instances have just started."""

    def operator_samples(self, span_s: float) -> Sequence[OperatorSample]:
        return [replace(sample, age_s=1.0) for sample in super().operator_samples(span_s)]


@pytest.mark.usefixtures("_untracked")
def test_job__leaves_the_file_where_no_sample_is_of_use(topology: Path) -> None:
    config = read_topology_file(topology)
    later = datetime(2026, 1, 6, tzinfo=UTC)
    path = profile_path(config, Settings())
    planning_profiles(Workspace(Settings()), config, Young(0.009), later)  # type: ignore[arg-type]
    assert not path.exists()
    _calibrate(config, 0.004)
    before = path.read_bytes()
    made = planning_profiles(Workspace(Settings()), config, Young(0.009), later)  # type: ignore[arg-type]
    assert made.profiles["split"].service_s == pytest.approx(0.004)
    assert path.read_bytes() == before


def test_known_profiles__take_state_that_was_never_measured_from_the_file(topology: Path) -> None:
    body = yaml.safe_load(topology.read_text())
    body["operators"]["lines"]["state_gib"] = 4
    topology.write_text(yaml.safe_dump(body))
    config = read_topology_file(topology)
    assert known_profiles(config, {})["lines"].state_gib == 4
    assert known_profiles(config, {"lines": OperatorProfile("lines", 0.009, samples=3)})["lines"].state_gib == 4
    measured = OperatorProfile("lines", 0.009, samples=3, state_gib=2, intervals={"state_gib": (1.9, 2.1)})
    assert known_profiles(config, {"lines": measured})["lines"].state_gib == 2


def test_known_profiles__take_a_service_time_that_was_never_measured_from_the_file(topology: Path) -> None:
    config = read_topology_file(topology)
    # Sampled for what it gives out, under an earlier file that said 9 ms of it.
    earlier = {"lines": OperatorProfile("lines", 0.009, samples=3)}
    assert known_profiles(config, earlier)["lines"].service_s == 0.001
    timed = {"lines": OperatorProfile("lines", 0.009, samples=3, service_s_error=0.0001)}
    assert known_profiles(config, timed)["lines"].service_s == 0.009
    alike = {"lines": OperatorProfile("lines", 0.009, samples=3, intervals={"service_s": (0.009, 0.009)})}
    assert known_profiles(config, alike)["lines"].service_s == 0.009


@pytest.mark.usefixtures("_untracked")
def test_known_profiles__are_the_measured_ones_with_what_is_declared_now(topology: Path) -> None:
    config = read_topology_file(topology)
    _calibrate(config, 0.004)
    path = profile_path(config, Settings())
    kept = read_profile_file(path)
    kept["split"] = kept["split"].__class__(
        "split", 0.004, {"split->count": 5.0, "gone->away": 1.0}, samples=3, efficiency=ScaleEfficiency(0.8, 0.0, 2)
    )
    write_profile_file(path, "words", kept, "")
    known = known_profiles(config, read_profile_file(path))
    assert known["split"].efficiency == ScaleEfficiency(0.8, 0.0, 2)
    assert known["split"].selectivity == {"split->count": 5.0}
    assert known["lines"].service_s == 0.001


@pytest.mark.usefixtures("_untracked")
def test_job__goes_on_without_what_was_measured_of_an_operator_that_is_gone(topology: Path) -> None:
    config = read_topology_file(topology)
    path = profile_path(config, Settings())
    write_profile_file(path, "words", {"gone": OperatorProfile("gone", 0.1, samples=3)}, "")
    assert _calibrate(config, 0.004)[1] == pytest.approx(0.004)


def test_calibrate__compares_with_a_profile_of_the_topology_alone(
    topology: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.json"
    write_profile_file(other, "words", {"gone": OperatorProfile("gone", 0.1)}, "")
    given = (str(topology), "--samples", str(samples(tmp_path)), "--against", str(other))
    assert f"{other}: operators.gone is no operator of topology 'words'" in fails(capsys, *given)


def test_calibrations_minutes_apart_that_differ__are_of_a_job_that_may_be_warming_up(
    topology: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config, arguments = read_topology_file(topology), (str(topology),)
    answer(capsys, *arguments, "--samples", str(samples(tmp_path, 0.00336)))
    second = answer(capsys, *arguments, "--samples", str(samples(tmp_path, 0.0025)))
    assert isinstance(second["unsettled_s"], float)
    digest = drift_digest(config, Settings())
    third = answer(capsys, *arguments, "--samples", str(samples(tmp_path, 0.0025)))
    assert (third["drifts"], third["unsettled_s"]) == ([], None)
    # The same again is no reason to decide anew.
    assert drift_digest(config, Settings()) == digest
    assert answer(capsys, *arguments, "--samples", str(samples(tmp_path, 0.002)))["unsettled_s"] is not None
    assert drift_digest(config, Settings()) != digest


def test_a_schedule__answers_no_longer_once_operators_are_measured_first_or_differ(
    topology: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config, arguments = read_topology_file(topology), (str(topology),)
    start = Start(PhysicalPlan(config.topology, dict.fromkeys(config.operators, 1)), None)

    def question() -> DecisionBasis:
        return question_of(Workspace(Settings()), config, Basis(Rung.FORECAST, (), {}, {}, {}), start)

    made = [question()]
    # By placeholders; then measured, the same again afresh and on top, and slower afresh.
    for service_s, options in (
        (0.002, ()),
        (0.002, ("--against", "none")),
        (0.002, ()),
        (0.004, ("--against", "none")),
    ):
        answer(capsys, *arguments, *options, "--samples", str(samples(tmp_path, service_s)))
        made.append(question())
    assert [after.answers(before) for before, after in itertools.pairwise(made)] == [False, True, True, False]
