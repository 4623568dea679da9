"""`forescale model evaluate` of several plans: ranked under one load or several, with why each is not the first."""

import json
from pathlib import Path

import numpy as np
import pytest
from pair_forecast import pair_forecast

from forecasting.forecast import Forecast
from forecasting.forecast_file import write_forecast
from forescale.cli import main

TOPOLOGY = """
topology: pair
operators:
  read: {service_s: 0.001, price_per_hour: 1}
  count: {service_s: 0.004, price_per_hour: 2}
streams:
  - {from: read, to: count}
planning: {max_p95_latency_s: 0.5, max_utilisation: 0.85}
"""

SITE = """
nodes: {near: {service_factor: 1}, far: {service_factor: 2}}
rescale: {restart_s: 12}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FORESCALE_HOME", str(tmp_path / "home"))
    (tmp_path / "pair.yaml").write_text(TOPOLOGY)
    (tmp_path / "site.yaml").write_text(SITE)
    plans = tmp_path / "plans"
    plans.mkdir()
    for count in (1, 2, 3):
        written(plans / f"count{count}.json", count)
    (plans / "note.txt").write_text("not a plan")
    (plans / ".half-written.json").write_text("{")
    return plans


def written(path: Path, count: int, topology: str = "pair", operator: str = "count") -> Path:
    path.write_text(json.dumps({"topology": topology, "parallelism": {"read": 1, operator: count}}))
    return path


def declare(folder: Path, planning: str) -> None:
    path = folder.parent / "pair.yaml"
    path.write_text(path.read_text().replace("planning: {", f"planning: {{{planning}, "))


def run(folder: Path, *arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["model", "evaluate", str(folder.parent / "pair.yaml"), *arguments])
    assert isinstance(ended.value.code, int)
    return ended.value.code


def answer(capsys: pytest.CaptureFixture[str], folder: Path, *arguments: str) -> dict:
    assert run(folder, *arguments, "--json") == 0
    body = json.loads(capsys.readouterr().out)
    assert isinstance(body, dict)
    return body


def refused(capsys: pytest.CaptureFixture[str], folder: Path, *arguments: str) -> str:
    assert run(folder, *arguments) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err


def test_a_folder__is_ranked_by_what_is_missed_and_then_by_price(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    told = answer(capsys, folder, "--plan", str(folder), "--load", "read=400")
    assert (told["schema_version"], told["topology"]) == (1, "pair")
    # 0.8 of two instances, 0.53 of three; prices 1 + 2 · 2 and 1 + 2 · 3
    assert [Path(one["plan"]).name for one in told["ranking"]] == ["count2.json", "count3.json", "count1.json"]
    best, second, third = told["ranking"]
    assert (best["rank"], best["probability"], best["excuse"]) == (1, 0, None)
    assert best["cost"] == {"cores": None, "memory_gib": None, "price": 5, "instances": 3}
    assert best["headroom"] == pytest.approx(500 / 400)
    assert (second["excuse"]["target"], second["excuse"]["value"], second["excuse"]["bound"]) == ("cost", 7, 5)
    assert third["probability"] == 1
    assert {name for name, one in third["targets"].items() if one["probability"] == 1} == {
        "throughput",
        "utilisation",
        "latency",
        "lag",
        "any",
    }
    assert "count is 160.0% full" in third["excuse"]["reason"]
    # few plans under one load are told in full beside
    assert told["plans"].keys() == {one["plan"] for one in told["ranking"]}
    assert told["plans"][best["plan"]]["mst_per_s"]["read"] == pytest.approx(500)


def test_headroom_that_nobody_asked_for__is_no_target_and_both_tables_say_the_same(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    file = folder.parent / "pair.yaml"
    file.write_text(file.read_text().replace(", max_utilisation: 0.85", ""))
    # 450/s keep two instances 90 % busy, which plans do too: their default headroom ends at 95 %.
    told = answer(capsys, folder, "--plan", str(folder), "--load", "read=450")
    (two,) = (one for one in told["ranking"] if Path(one["plan"]).name == "count2.json")
    alone = told["plans"][two["plan"]]
    assert set(two["targets"]) == set(alone["violation"]["targets"])
    assert "utilisation" not in two["targets"]
    assert two["probability"] == alone["violation"]["targets"]["any"]["probability"] == 0
    assert alone["excuses"] == []


def test_several_loads__are_equally_likely_and_a_lone_rate_is_in_all(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    loads = ("--load", "read=200", "--load", "read=400", "--load", "read=600")
    told = answer(capsys, folder, "--plan", str(folder), *loads)
    assert [load["rate_per_s"] for load in told["loads"]] == [{"read": 200}, {"read": 400}, {"read": 600}]
    # at 0.85 one instance holds 212.5/s, two 425/s, three 637.5/s
    by_plan = {Path(one["plan"]).name: one for one in told["ranking"]}
    assert {name: one["probability"] for name, one in by_plan.items()} == {
        "count1.json": pytest.approx(2 / 3),
        "count2.json": pytest.approx(1 / 3),
        "count3.json": 0,
    }
    assert [load["probability"] for load in by_plan["count2.json"]["loads"]] == [0, 0, 1]
    assert by_plan["count2.json"]["loads"][2]["bottleneck"] == "count"
    assert told["plans"] == {}


def test_a_running_plan__or_the_first_file_is_what_changes_are_counted_from(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    load = ("--load", "read=100", "--site", str(folder.parent / "site.yaml"))
    none = answer(capsys, folder, "--plan", str(folder), *load)
    assert (none["against"], none["ranking"][0]["change"]) == (None, None)
    first = written(folder.parent / "first.json", 4)
    counted = answer(capsys, folder, "--plan", str(first), "--plan", str(folder), *load)
    assert counted["against"] == str(first)
    assert counted["ranking"][0]["change"] == {"started": 0, "stopped": 3, "moved": 0}
    # a change stops processing for 12 s, which is more lag than 10 s; only what runs already misses nothing
    declare(folder, "max_lag_s: 10")
    changed = answer(capsys, folder, "--plan", str(folder), *load, "--from", str(folder / "count3.json"))
    assert Path(changed["ranking"][0]["plan"]).name == "count3.json"
    assert [one["targets"]["lag"]["probability"] for one in changed["ranking"]] == [0, 1, 1]
    assert "the lag is above 10 s" in changed["ranking"][1]["excuse"]["reason"]


def test_probabilities__are_those_that_evaluate_tells_of_each_alone(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    profile = folder.parent / "profile.json"
    profile.write_text('{"topology": "pair", "operators": {"count": {"service_s": 0.004, "service_s_error": 0.0008}}}')
    running = written(folder.parent / "running.json", 4)
    more = ("--load", "read=450", "--profile", str(profile), "--from", str(running), "--backlog", "read=9000")
    more = (*more, "--site", str(folder.parent / "site.yaml"))
    declare(folder, "max_lag_s: 40")
    told = answer(capsys, folder, "--plan", str(folder), *more)
    seen = set()
    for one in told["ranking"]:
        alone = answer(capsys, folder, "--plan", one["plan"], *more)[one["plan"]]["violation"]["targets"]
        for target in ("throughput", "lag"):
            assert one["targets"][target]["probability"] == pytest.approx(alone[target]["probability"])
            assert one["targets"][target]["seconds"] == pytest.approx(alone[target]["seconds"])
            seen.add(alone[target]["probability"])
    assert len(seen) > 2


def test_a_forecast__ranks_by_its_paths(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    forecast = folder.parent / "read"
    write_forecast(_forecast(), forecast)
    given = ("--plan", str(folder), "--load", str(forecast))
    told = answer(capsys, folder, *given)
    # peaks of paths go evenly from 125/s to 525/s: more than 212.5/s in 78 % of them, more than 425/s in 25 %
    by_plan = {Path(one["plan"]).name: one["probability"] for one in told["ranking"]}
    assert by_plan["count1.json"] == pytest.approx(0.78, abs=0.02)
    assert by_plan["count2.json"] == pytest.approx(0.25, abs=0.02)
    assert by_plan["count3.json"] == 0


def test_people__read_a_table_and_one_sentence_for_each_loser(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    assert run(folder, "--plan", str(folder), "--load", "read=400", "--load", "read=410") == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "best: count2.json, misses a target with probability 0" in text
    assert "2. count3.json: misses its targets with probability 0, as the best does, and costs 7 an hour" in text
    assert (
        "3. count1.json: misses throughput with probability 1, the best with 0: at read 410/s count is 164.0% f" in text
    )
    for count in range(4, 23):
        written(folder / f"count{count}.json", count)
    page = folder.parent / "best.html"
    assert run(folder, "--plan", str(folder), "--load", "read=400", "--plot", str(page)) == 0
    text = " ".join(capsys.readouterr().out.split())
    # 22 plans, of which 20 are shown and 8 drawn
    assert "20. count21.json: " in text
    assert "21. " not in text
    assert "2 more plans rank behind; --json lists all" in text
    assert f"drawn in {page}: the best 8 of 22 plans" in text
    assert "count9.json" in page.read_text()
    assert "count10.json" not in page.read_text()


def test_one_plan_of_a_folder__is_told_as_one_that_is_named(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    for count in (2, 3):
        (folder / f"count{count}.json").unlink()
    one = str(folder / "count1.json")
    assert answer(capsys, folder, "--plan", str(folder), "--load", "read=1") == answer(
        capsys, folder, "--plan", one, "--load", "read=1"
    )


def test_plans_that_cannot_be_ranked__are_refused_by_file(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    load, outside = ("--load", "read=1"), folder.parent
    empty = outside / "empty"
    empty.mkdir()
    assert f"--plan {empty} holds no plan file (.json, .yaml, .yml); put one there" in refused(
        capsys, folder, "--plan", str(empty), *load
    )
    one = folder / "count1.json"
    again = ("--plan", str(folder), "--plan", str(one))
    assert f"--plan {one} is given twice; give each plan once" in refused(capsys, folder, *again, *load)
    copy = outside / "copy.yaml"
    copy.write_text("topology: pair\nparallelism: {count: 1, read: 1}\n")
    error = refused(capsys, folder, "--plan", str(folder), "--plan", str(copy), *load)
    assert f"plan file {copy} holds plan " in error
    assert f", as {one} does; leave one of them out" in error
    other = written(outside / "other.json", 1, topology="trio")
    error = refused(capsys, folder, "--plan", str(folder), "--plan", str(other), *load)
    assert f"{other}: plan of topology 'trio' is none of 'pair'; give a plan of this topology" in error
    unknown = written(outside / "unknown.json", 1, operator="cuont")
    error = refused(capsys, folder, "--plan", str(folder), "--plan", str(unknown), *load)
    assert f"{unknown}: plan names the unknown operator 'cuont'; topology 'pair' has read, count" in error
    lost = outside / "lost.json"
    error = refused(capsys, folder, "--plan", str(folder), "--plan", str(lost), *load)
    assert f"plan file {lost} does not exist" in error


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"topology": "pair", "topology": "pair"}', "line 1: 'topology' is given twice"),
        ('{"topology": "pair"', "is not YAML"),
        ("", "is empty"),
        ("[1, 2]", "holds list, not fields"),
    ],
)
def test_a_plan_file_in_json__that_cannot_be_read_is_told_as_one_in_yaml(
    capsys: pytest.CaptureFixture[str], folder: Path, text: str, told: str
) -> None:
    (folder / "bad.json").write_text(text)
    error = refused(capsys, folder, "--plan", str(folder), "--load", "read=1")
    assert "bad.json" in error
    assert told in error


def test_loads_and_options__that_do_not_go_together_are_refused(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    plans = ("--plan", str(folder))
    two = (*plans, "--load", "read=1", "--load", "read=2")
    assert "--plot draws plans over one load, 2 are given" in refused(capsys, folder, *two, "--plot", "page.html")
    uneven = (*two, "--load", "write=1", "--load", "write=2", "--load", "write=3")
    assert "--load gives source 'read' 2 rates and 'write' 3" in refused(capsys, folder, *uneven)


def _forecast() -> Forecast:
    """Peaks of paths go evenly from 125/s to 525/s."""
    return pair_forecast([325.0, 485.0, 505.0, 521.0], np.linspace(125, 525, 400))
