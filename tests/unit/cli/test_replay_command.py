"""`forescale replay` as a user meets it: a table, a timeline, and one line for what cannot be replayed."""

import bz2
import gzip
import json
import lzma
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from forescale.cli.main import main
from forescale.codec import taken_over
from forescale.files.file_error import FileError
from forescale.files.topology import topology_of_text
from forescale.jobs.replay import ReplayedPolicies, replay
from forescale.jobs.replay_gate import read_baseline, worse_than
from forescale.jobs.replay_request import ReplayRequest
from forescale.settings import Settings
from forescale.situation.workspace import Workspace
from planner.replay.timeline import decisions_path, read_timeline

TOPOLOGY = """
topology: calls
operators:
  ingest: {service_s: 0.0001}
  work: {service_s: 0.1}
streams:
  - {from: ingest, to: work}
planning: {max_instances: 40, max_lag_s: 120, downtime_s: 60}
"""
CHEAP = "static-peak,static-half,cron,hpa-70,dhalion,hindsight"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FORESCALE_HOME", str(tmp_path / "home"))
    # Nobody listens there.
    monkeypatch.setenv("FORESCALE_MLFLOW_URI", "http://me:s3cret@127.0.0.1:9")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "calls.yaml").write_text(TOPOLOGY)
    return tmp_path


def _trace(path: Path, days: float = 2.0, window_s: int = 300) -> Path:
    start, steps = datetime(2024, 3, 4, tzinfo=UTC), round(days * 86400 / window_s)
    rate = 40 - 35 * np.cos(2 * np.pi * np.arange(steps) * window_s / 86400)
    lines = [
        f"{start + timedelta(seconds=window_s * at):%Y-%m-%dT%H:%M:%SZ},{r * window_s:.0f}" for at, r in enumerate(rate)
    ]
    path.write_text("timestamp,count\n" + "\n".join(lines) + "\n")
    return path


def _run(*arguments: str) -> int:
    """In this process: others of its tests may have changed where modules are found, which workers would inherit."""
    try:
        return main([*arguments, "--workers", "1"]) or 0
    except SystemExit as error:
        return int(error.code or 0)


@pytest.mark.slow
def test_policies__are_scored_side_by_side_and_the_timeline_kept(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = _trace(folder / "trace.csv")
    code = _run("replay", "calls.yaml", "--trace", str(trace), "--out", "t.parquet", "--policies", CHEAP, "--json")
    assert code == 0
    told = json.loads(capsys.readouterr().out)
    by_name = {score["policy"]: score for score in told["scores"]}
    assert set(by_name) == set(CHEAP.split(","))
    # A day is learnt from and a day replayed.
    assert {score["days"] for score in told["scores"]} == {1.0}
    assert by_name["static-peak"]["violation_minutes"] == 0
    assert by_name["static-half"]["violation_minutes"] > 100
    assert by_name["hindsight"]["violation_minutes"] == 0
    cheaper = {n for n, s in by_name.items() if s["violation_minutes"] == 0 and n != "hindsight"}
    assert all(by_name[name]["instance_hours"] > by_name["hindsight"]["instance_hours"] for name in cheaper)
    assert "service times are those declared in the topology file; nothing was measured" in told["notes"]
    provenance = {each["quantity"]: each["provenance"] for each in told["stands_on"]}
    assert (provenance["service_time"]["origin"], provenance["downtime"]["origin"]) == ("declared", "declared")
    timeline = read_timeline(folder / "t.parquet")
    assert set(timeline.policies) == set(by_name)
    # Tracking was away: that costs a note, in which the password does not stand.
    assert told["run_id"] == ""
    assert "the replay is not in MLflow: MLflow at http://127.0.0.1:9 does not answer" in told["notes"][-1]
    assert "s3cret" not in json.dumps(told)
    assert decisions_path(folder / "t.parquet").exists()


@pytest.mark.slow
def test_a_table__tells_cost_and_violations_together(folder: Path) -> None:
    trace = _trace(folder / "trace.csv")
    command = Path(sys.executable).with_name("forescale")
    options = ["--policies", "static-peak,static-half", "--seeds", "2", "--workers", "2", "--set", "planning.allow=.01"]
    options += ["--against", "static-peak"]
    asked = [command, "replay", "calls.yaml", "--trace", trace, *options]
    done = subprocess.run(asked, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "violation: lag > 120 s" in done.stdout
    assert "allowed in 1.00% of the minutes" in done.stdout
    assert "overdrawn" in done.stdout
    assert "less static-peak, mean over paired seeds" in done.stdout
    assert "static-half" in done.stdout
    assert "windows of 300 s" in done.stdout
    assert f"timeline in {folder / 'home' / 'replay' / 'calls.parquet'}" in done.stdout
    assert read_timeline(folder / "home" / "replay" / "calls.parquet").allowed_share == 0.01


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        (["2024-03-04T00:05:00Z,5", "2024-03-04T00:00:00Z,5"], "sort the rows"),
        (["2024-03-04T00:00:00Z,5", "2024-03-04T00:00:00Z,5"], "does not come after"),
        (["2024-03-04T00:00:00Z,-5", "2024-03-04T00:05:00Z,5"], "give a number from 0"),
        (["2024-03-04T00:00:00Z,many", "2024-03-04T00:05:00Z,5"], "give a number"),
        (["yesterday,5", "2024-03-04T00:05:00Z,5"], "is no time"),
        (["2024-03-04T00:00:00Z,5"], "at least two"),
        (["2024-03-04T00:00:00Z,0", "2024-03-04T00:05:00Z,0"], "nothing arrives"),
        (["2014-03-04T00:00:00Z,5", "2014-03-04T01:00:00Z,5", "2014-06-04T01:00:00Z,5"], "windows are missing"),
    ],
)
def test_a_trace_that_is_none__is_refused_in_a_line(
    folder: Path, capsys: pytest.CaptureFixture[str], rows: list[str], reason: str
) -> None:
    (folder / "bad.csv").write_text("\n".join(["timestamp,count", *rows]) + "\n")
    assert _run("replay", "calls.yaml", "--trace", "bad.csv", "--policies", "static-peak") != 0
    said = capsys.readouterr().err
    assert reason in said
    assert "Traceback" not in said
    assert not (folder / "home" / "replay").exists()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--policies", "best"], "--policies names 'best'; known are static-peak"),
        (["--policies", "cron", "--against", "planner"], "--against 'planner' is not replayed; name one of cron"),
        (["--deviation", "error=-1"], "--deviation error=-1; give a finite number of at least 0"),
        (["--deviation", "noise=nan"], "--deviation noise=nan"),
        (["--deviation", "noise=much"], "--deviation noise=nan; give a finite number"),
        (["--deviation", "noise=1_0"], "--deviation noise=nan; give a finite number"),
        (["--deviation", "failures_every_s=60"], "failures_every_s=60; give a finite number of at least 600"),
        (["--deviation", "slow_every_s=0"], "--deviation slow_every_s=0"),
        (["--deviation", "key_drift=1.5"], "--deviation key_drift=1.5; give a finite number of between 0 and 1"),
        (["--deviation", "wind=1"], "--deviation 'wind=1': give NAME=VALUE, each of error, noise,"),
        (["--deviation", "noise=.1", "--deviation", "noise=.2"], "key_drift at most once"),
        (["--site", "none.yaml"], "site file none.yaml does not exist"),
        (["--set", "planning.allow=2"], "planning.allow: Input should be less than or equal to 1 (given: 2)"),
        (["--set", "planning.downtime_s=-1"], "planning.downtime_s: Input should be greater than or equal to 0"),
        (["--set", "planning.max_lag_s=0"], "planning.max_lag_s: Input should be greater than"),
        (["--set", "planning.max_lags=9"], "planning.max_lags is not a known field"),
        (["--set", "forecast.every_s=7000"], "forecast.every_s 7000; give seconds that divide a day"),
        (["--set", "forecast.every_s=0"], "forecast.every_s: Input should be greater than or equal to 60 (given: 0)"),
        (["--set", "rescale.restore_s_per_gib=-1"], "rescale.restore_s_per_gib: Input should be greater than or"),
        (["--set", "lead_s=60"], "--set 'lead_s': a replay sets no such field; name one of planning or forecast"),
        (["--set", "planning=60"], "--set 'planning': a replay sets no such field"),
        (["--set", "cluster.kind=flink"], "--set 'cluster.kind': a replay sets no such field"),
        (["--set", "planning.lead_s"], "--set 'planning.lead_s' is not FIELD=VALUE"),
        (["--from", "2030-01-01"], "nothing is left to replay"),
        (["--from", "noon"], "is no ISO time"),
    ],
)
def test_options_that_cannot_be__are_refused_in_a_line(
    folder: Path, capsys: pytest.CaptureFixture[str], options: list[str], reason: str
) -> None:
    trace = _trace(folder / "trace.csv")
    assert _run("replay", "calls.yaml", "--trace", str(trace), *options) != 0
    assert reason in capsys.readouterr().err


def test_fields_of_two_sections__are_checked_together() -> None:
    config = topology_of_text(TOPOLOGY, Path("calls.yaml"))
    late = {"planning.lead_s": 90_000}
    with pytest.raises(FileError, match=r"reach beyond forecast\.horizon_s 86400"):
        ReplayRequest("calls", changes=late).changed(config)
    changed = ReplayRequest("calls", changes=late | {"forecast.horizon_s": 180_000}).changed(config)
    assert (changed.planning.lead_s, changed.forecast.horizon_s) == (90_000, 180_000)
    assert (changed.planning.max_lag_s, changed.planning.downtime_s) == (120, 60)


@pytest.mark.slow
def test_reality__differs_from_what_is_believed_where_options_ask_for_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = _trace(folder / "trace.csv")
    stateful = TOPOLOGY.replace("{service_s: 0.1}", "{service_s: 0.1, state_gib: 6}")
    (folder / "calls.yaml").write_text(stateful)
    (folder / "site.yaml").write_text("checkpoints: {interval_s: 60, duration_s: 5}\nrescale: {restart_s: 30}\n")
    asked = ["replay", "calls.yaml", "--trace", str(trace), "--policies", "cron", "--json"]

    def told(*options: str) -> tuple[dict[str, Any], dict[str, Any]]:
        assert _run(*asked, *options) == 0
        answer = json.loads(capsys.readouterr().out)
        return answer, answer["scores"][0]

    calm, score = told()
    assert (
        "6 GiB of state cost nothing at a rescale: give --set rescale.restore_s_per_gib=10, or --site" in calm["notes"]
    )
    rescales = score["rescales_per_day"]
    assert score["downtime_minutes"] == pytest.approx(rescales)
    # Each rescale reads 6 GiB again, at 10 s each: twice as long.
    answer, score = told("--set", "rescale.restore_s_per_gib=10")
    assert score["downtime_minutes"] == pytest.approx(2 * rescales)
    assert (answer["terms"]["restore_s_per_gib"], answer["terms"]["state_gib"]) == (10, 6)
    # As much as the site file tells, which also goes back to checkpoints.
    answer, score = told("--site", "site.yaml", "--set", "planning.lead_s=40")
    provenance = {each["quantity"]: each["provenance"] for each in answer["stands_on"]}
    assert (provenance["lead"]["origin"], provenance["lead"]["place"]) == ("given", "--set planning.lead_s=40")
    assert provenance["downtime"]["origin"] == "declared"
    assert score["downtime_minutes"] == pytest.approx(2 * rescales)
    assert answer["terms"]["checkpoints"]["interval_s"] == 60
    # Failures begin downtimes, too; about one in two hours.
    answer, score = told(
        *("--deviation", "failures_every_s=7200", "--deviation", "noise=.1"),
        *("--deviation", "slow_every_s=3600", "--deviation", "key_drift=.5"),
    )
    assert score["downtime_minutes"] > rescales + 4
    assert answer["terms"]["deviations"] == {
        "error": 0.0, "noise": 0.1, "failures_every_s": 7200.0, "slow_every_s": 3600.0, "key_drift": 0.5,
    }  # fmt: skip


@pytest.mark.slow
def test_a_load_beyond_the_limits__is_named_with_what_would_carry_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = _trace(folder / "trace.csv")
    asked = ["replay", "calls.yaml", "--trace", str(trace), "--policies", "static-peak"]
    assert _run(*asked, "--set", "planning.max_instances=6") == 0
    said = " ".join(capsys.readouterr().out.split())
    # 75/s of .1 s keep 7.5 instances of work busy: 8, and one of ingest.
    assert "no policy can carry the largest minute, 75/s at ingest, within the limits of planning: " in said
    assert "instances 9 of the whole plan is beyond 6; raise max_instances to 9" in said
    assert _run(*asked, "--set", "planning.max_instances=9", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["scores"][0]["violation_minutes"] == 0
    assert not any("largest minute" in note for note in told["notes"])


@pytest.mark.slow
def test_local_times__are_replayed_in_utc(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"2024-03-04T{hour:02d}:00:00+02:00,{3600 * 9}" for hour in range(24)]
    (folder / "local.csv").write_text("\n".join(["timestamp,count", *rows]) + "\n")
    assert _run("replay", "calls.yaml", "--trace", "local.csv", "--policies", "static-peak", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["start"], told["end"]) == ("2024-03-04T10:00:00+00:00", "2024-03-04T22:00:00+00:00")
    assert "replayed: 720 minutes; less than a day may lack the peak of every day" in told["notes"]


@pytest.mark.slow
def test_of_ten_years__the_part_that_is_asked_for_is_replayed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = _trace(folder / "long.csv", days=3652, window_s=3600)
    options = ["--policies", "static-peak", "--from", "2030-01-01", "--until", "2030-01-03", "--json"]
    assert _run("replay", "calls.yaml", "--trace", str(trace), *options) == 0
    assert json.loads(capsys.readouterr().out)["scores"][0]["days"] == 2.0


@pytest.mark.slow
def test_the_gate__lets_pass_what_is_no_worse_and_says_what_is(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace, baseline = _trace(folder / "trace.csv"), folder / "baseline.json"
    asked = ["replay", "calls.yaml", "--trace", str(trace), "--policies", "static-peak,static-half", "--json"]
    asked += ["--set", "planning.allow=0"]
    assert _run(*asked, "--plot", "page.html") == 0
    answer = json.loads(capsys.readouterr().out)
    assert "has the fewest violations" in (folder / "page.html").read_text()
    done = taken_over(ReplayedPolicies, {name: answer[name] for name in answer if name != "plot"})

    def worse(kept: object) -> list[str]:
        baseline.write_text(json.dumps(kept))
        return worse_than(done, answer, asked[5].split(","), read_baseline(baseline))

    assert worse(answer) == []
    newer = {"forecast_every_s", "parallel_restore", "prices", "started_h", "moved_gib_h"}
    assert newer < answer["terms"].keys()
    older = {name: value for name, value in answer["terms"].items() if name not in newer}
    assert worse(answer | {"terms": older}) == []
    half = replace(done, scores=tuple(score for score in done.scores if score.policy == "static-half"))
    assert worse_than(half, answer, ["static-peak", "static-half"], read_baseline(baseline)) == [
        "static-peak: replayed with 0 of 1 seed; see the notes"
    ]
    cheaper = [score | {"instance_hours": score["instance_hours"] / 1.1} for score in answer["scores"]]
    assert len(worse(answer | {"scores": cheaper})) == 2
    assert "10.0% more than" in worse(answer | {"scores": cheaper})[0]
    assert worse(answer | {"scores": cheaper, "gate": {"cost": 0.11}}) == []
    better = [score | {"violation_share": score["violation_share"] / 2} for score in answer["scores"]]
    # The static peak has no violation to begin with.
    assert [text.split(":")[0] for text in worse(answer | {"scores": better})] == ["static-half"]
    for kept, reason in (
        (answer | {"max_lag_s": 5}, "has max_lag_s 5, this replay 120"),
        (
            answer | {"terms": answer["terms"] | {"prices": "of-before", "started_h": 0.1}},
            "prices of-before, this replay ",
        ),
        (answer | {"terms": answer["terms"] | {"lead_s": 5, "seeds": 9}}, "lead_s 5, this replay 300.0; seeds 9, this"),
        (answer | {"terms": answer["terms"] | {"downtime_s": 5}}, "has downtime_s 5, this replay 60"),
        (answer | {"terms": answer["terms"] | {"scale": 5}}, "has scale 5, this replay 1"),
        (answer | {"terms": answer["terms"] | {"allow": 0.5}}, "has allow 0.5, this replay 0"),
        (answer | {"terms": answer["terms"] | {"arrivals": "others"}}, "has arrivals others, this replay"),
        (answer | {"terms": answer["terms"] | {"profiles": "others"}}, "has profiles others, this replay"),
        (answer | {"scores": [score | {"seeds": 0} for score in answer["scores"]]}, "with 0 of 1 seed"),
        (answer | {"scores": [score | {"instance_hours": float("nan")} for score in answer["scores"]]}, "is no answer"),
        (answer | {"terms": answer["terms"] | {"deviations": {"error": 0.2}}}, "has error 0.2, this replay 0"),
        ({name: answer[name] for name in answer if name != "terms"}, "is no answer of `forescale replay"),
        (answer | {"scores": cheaper[:1]}, "lacks policy"),
        (answer | {"gate": {"cost": float("nan")}}, "give finite numbers"),
        (answer | {"gate": {"price": 1}}, "is no answer of"),
        ([], "is no answer of `forescale replay"),
    ):
        with pytest.raises(FileError, match=reason):
            worse(kept)
    with pytest.raises(FileError, match="does not exist"):
        read_baseline(folder / "none.json")

    baseline.write_text(json.dumps(answer | {"scores": cheaper}))
    assert _run(*asked, "--gate", str(baseline)) == 1
    assert len(json.loads(capsys.readouterr().out)["worse"]) == 2


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_trace__is_read_whatever_its_name(
    folder: Path, capsys: pytest.CaptureFixture[str], pack: Callable[[bytes], bytes]
) -> None:
    ending = {gzip.compress: "gz", bz2.compress: "bz2", lzma.compress: "xz"}[pack]
    packed = folder / f"trace.csv.{ending}"
    packed.write_bytes(pack(_trace(folder / "trace.csv", days=0.5).read_bytes()))
    options = ["--policies", "static-peak", "--json"]
    answers = []
    for trace in (folder / "trace.csv", packed):
        assert _run("replay", "calls.yaml", "--trace", str(trace), *options) == 0
        answers.append(json.loads(capsys.readouterr().out)["scores"])
    assert answers[0] == answers[1]


@pytest.mark.parametrize("name", ["none.csv.gz", "none.zst", "none", "/nowhere/trace.txt"])
def test_a_trace_that_does_not_exist__is_refused_whatever_its_name(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert _run("replay", "calls.yaml", "--trace", name) == 1
    assert f"trace {name} does not exist" in capsys.readouterr().err


def test_a_packed_trace_without_a_topology__asks_for_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run("replay", "trace.csv.gz") == 2
    said = " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert "name the topology that takes the arrivals, and give --trace trace.csv.gz" in said


def test_a_baseline_that_cannot_be_read__is_refused_before_the_replay(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(folder / "pipe")
    trace = _trace(folder / "trace.csv", days=0.5)
    assert _run("replay", "calls.yaml", "--trace", str(trace), "--gate", "pipe", "--out", "t.parquet") == 1
    assert "baseline pipe is no answer" in capsys.readouterr().err
    assert not (folder / "t.parquet").exists()


def test_what_was_replayed__is_not_replayed_again_unless_something_changed_or_it_was_deleted(folder: Path) -> None:
    _trace(folder / "trace.csv", days=0.5)

    def told(*policies: str, **others: object) -> list[str]:
        heard: list[str] = []
        request = ReplayRequest("calls.yaml", folder / "t.parquet", folder / "trace.csv", policies, workers=1)
        replay(Workspace(Settings()), replace(request, **others), progress=heard.append)  # type: ignore[arg-type]
        return [text.split(",")[0] for text in heard]

    assert told("static-half") == ["replayed static-half with seed 0"]
    half = read_timeline(folder / "t.parquet").tracks[0]
    # As after an interruption: one of the two is done.
    assert told("static-half", "static-peak") == ["replayed static-peak with seed 0"]
    again = read_timeline(folder / "t.parquet")
    assert again.policies == ("static-half", "static-peak")
    assert np.array_equal(again.tracks[0].lag_s, half.lag_s)
    assert told("static-half", changes={"planning.downtime_s": 61.0}) == ["replayed static-half with seed 0"]
    assert told("static-half", scale=1.5) == ["replayed static-half with seed 0"]
    assert told("static-half") == []
    shutil.rmtree(folder / "home" / "replay")
    assert told("static-half") == ["replayed static-half with seed 0"]
