"""`forescale model evaluate` with a site, a running plan and a forecast."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from pair_forecast import pair_forecast

from forecasting.arrivals.arrival_source import Arrivals, Measures, SourceArrivals
from forecasting.arrivals.store import write_history
from forecasting.forecast import Forecast
from forecasting.forecast_file import write_forecast
from forescale.cli import main
from forescale.cli.evaluate import shown_names
from modeling.queueing.bursts import Bursts
from tests.unit.modeling.bursty import window_counts

TOPOLOGY = """
topology: pair
operators:
  read: {service_s: 0.001}
  count: {service_s: 0.004}
streams:
  - {from: read, to: count}
arrivals: {kind: events, path: events, columns: {time: at}, source: read}
cluster: {kind: simulator, truth: truth, parallelism: {read: 1, count: 2}}
"""

PLAN = """
topology: pair
parallelism: {read: 1, count: 2}
containers:
  - {id: 1, node: near, instances: [[read, 0], [count, 0]]}
  - {id: 2, node: far, instances: [[count, 1]]}
"""

SITE = """
containers: {cores: 1, memory_mib: 1024}
nodes: {far: {service_factor: 2}}
links: [{from: near, to: far, delay_ms: 10, jitter_ms: 1, bandwidth_mbit_per_s: 100}]
streams: {read->count: {bytes_per_tuple: 1000}}
checkpoints: {interval_s: 60, duration_s: 5}
rescale: {restart_s: 12}
"""


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setenv("FORESCALE_HOME", str(tmp_path / "home"))
    written = {}
    for name, text in {"topology": TOPOLOGY, "plan": PLAN, "site": SITE}.items():
        path = tmp_path / f"{name}.yaml"
        path.write_text(text)
        written[name] = str(path)
    running = tmp_path / "running.yaml"
    running.write_text("topology: pair\nparallelism: {read: 1, count: 1}\n")
    return written | {"running": str(running)}


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["model", "evaluate", *arguments])
    assert isinstance(ended.value.code, int)
    return ended.value.code


def declare(files: dict[str, str], planning: str) -> None:
    path = Path(files["topology"])
    path.write_text(f"{path.read_text()}planning: {{{planning}}}\n")


def answer(capsys: pytest.CaptureFixture[str], files: dict[str, str], *more: str) -> dict:
    assert run(files["topology"], "--plan", files["plan"], *more, "--json") == 0
    told = json.loads(capsys.readouterr().out)[files["plan"]]
    assert isinstance(told, dict)
    return told


def test_one_plan_under_several_loads__is_answered_for_each(
    capsys: pytest.CaptureFixture[str], files: dict[str, str]
) -> None:
    loads = ("--load", "read=100", "--load", "read=400")
    answers = answer(capsys, files, *loads)["loads"]
    # Two instances of 4 ms: 100 · .004 / 2 and 400 · .004 / 2.
    assert [each["operators"]["count"]["utilisation"] for each in answers] == [pytest.approx(0.2), pytest.approx(0.8)]
    assert answers[1] == answer(capsys, files, "--load", "read=400")
    assert run(files["topology"], "--plan", files["plan"], *loads) == 0
    shown = capsys.readouterr().out
    assert shown.index("load: read 100/s") < shown.index("load: read 400/s")


def test_a_site__slows_what_is_far_and_names_the_container_that_is_full(
    capsys: pytest.CaptureFixture[str], files: dict[str, str]
) -> None:
    told = answer(capsys, files, "--site", files["site"], "--load", "read=100")
    # count gets 50/s each: 4 ms on the near node, 8 ms on the far one
    assert told["operators"]["count"]["instance_utilisation"] == pytest.approx([0.2, 0.4])
    # container 1 computes 100 · 1 ms + 50 · 4 ms of one core
    assert told["containers"]["1"]["cores"] == pytest.approx(0.3)
    assert told["other_limits"]["container 1"] == pytest.approx(1 / 0.3)
    # half the stream crosses: 50/s · 8000 bits of 100 Mbit/s
    assert told["other_limits"]["network near → far"] == pytest.approx(100e6 / (50 * 8000))
    # of the two the far instance saturates first, at 100 / 0.4, as does its container
    assert told["mst_per_s"]["read"] == pytest.approx(250)
    # 10 ms on half of the ways, in the mean at least 5 ms and two services
    assert told["latency"]["mean_s"] > 0.005 + 0.001 + 0.006
    assert told["latency"]["p50_s"] < told["latency"]["p95_s"] < told["latency"]["p99_s"]


def test_a_running_plan__tells_downtime_backlog_and_recovery(
    capsys: pytest.CaptureFixture[str], files: dict[str, str]
) -> None:
    told = answer(capsys, files, "--site", files["site"], "--load", "read=100", "--from", files["running"])
    change = told["rescale"]
    # 12 s down; on average 5 + 60 / 2 s are processed again
    assert (change["downtime_s"], change["replayed_s"]) == pytest.approx((12, 35))
    # 47 s of 100/s, drained at 250 − 100
    assert change["backlog"] == pytest.approx(4700)
    assert change["catch_up_s"] == pytest.approx(4700 / 150)
    assert change["recovery_s"] == pytest.approx(12 + 4700 / 150)


def test_a_forecast__is_evaluated_at_the_quantile_of_its_peak(
    capsys: pytest.CaptureFixture[str], files: dict[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / "source=read"
    write_forecast(_forecast(), folder)
    at_95 = answer(capsys, files, "--load", str(folder))
    assert at_95["load_per_s"]["read"] == pytest.approx(150)
    declare(files, "quantile: 0.5")
    at_50 = answer(capsys, files, "--load", str(folder))
    assert at_50["load_per_s"]["read"] == pytest.approx(100)


def test_a_forecast__comes_in_the_bursts_of_its_history_unless_the_file_says_otherwise(
    capsys: pytest.CaptureFixture[str], files: dict[str, str], tmp_path: Path
) -> None:
    write_forecast(_forecast(), tmp_path / "read")
    end = _forecast().trained_to
    counts = window_counts(np.random.default_rng(1), Bursts(0.5, 2.0, 2.0), 50.0, 60.0, 1440).astype(np.int64)
    source = SourceArrivals(counts, np.array([[0, 2**62]]))
    start = end - timedelta(days=1)
    arrivals = Arrivals(start, end, 60, Measures.OFFERED, {"read": source})
    write_history(arrivals, tmp_path / "home" / "history", "pair", start, end)
    load = ("--load", str(tmp_path / "read"))
    read = answer(capsys, files, *load)
    declare(files, "arrival_cv2: 1")
    declared = answer(capsys, files, *load)
    # half of the time 2 · 150/s at 4 ms, else nothing
    assert read["latency"]["p95_s"] > 1.3 * declared["latency"]["p95_s"]
    assert any(
        note.startswith("arrivals at read rise to 2 times their rate for 2.") and "assumed" in note
        for note in read["notes"]
    )
    assert not any("arrivals at" in note for note in declared["notes"])


@pytest.mark.parametrize("known", [False, True])
def test_a_forecast__of_which_the_history_tells_nothing_is_poisson_and_says_so(
    capsys: pytest.CaptureFixture[str], files: dict[str, str], tmp_path: Path, known: bool
) -> None:
    write_forecast(_forecast(), tmp_path / "read")
    end = _forecast().trained_to
    start = end - timedelta(hours=1)
    if known:
        source = SourceArrivals(np.full(60, 3000), np.array([[0, 2**62]]))
        arrivals = Arrivals(start, end, 60, Measures.OFFERED, {"read": source})
        write_history(arrivals, tmp_path / "home" / "history", "pair", start, end)
    load = ("--load", str(tmp_path / "read"))
    read = answer(capsys, files, *load)
    declare(files, "arrival_cv2: 1")
    declared = answer(capsys, files, *load)
    assert read["latency"] == declared["latency"]
    (note,) = set(read["notes"]) - set(declared["notes"])
    assert "taken as Poisson: " in note
    assert ("60 windows of 60 s within 7 days do not show how they vary" in note) == known


def test_a_forecast_that_is_named__goes_with_no_other_of_its_source(
    capsys: pytest.CaptureFixture[str], files: dict[str, str], tmp_path: Path
) -> None:
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        write_forecast(_forecast(), folder)
    given = (files["topology"], "--plan", files["plan"], "--load", str(folders[0]))
    assert run(*given, "--load", str(folders[1])) == 1
    assert f"--load {folders[1]}: a second forecast of source 'read'; give one of each" in capsys.readouterr().err
    assert run(*given, "--load", "read=100") == 1
    assert "gives source 'read' 100/s and a folder of its forecast; give one of the two" in capsys.readouterr().err


def test_a_profile__of_another_topology_is_refused(
    capsys: pytest.CaptureFixture[str], files: dict[str, str], tmp_path: Path
) -> None:
    profile = tmp_path / "profile.json"
    profile.write_text('{"topology": "trio", "operators": {}}')
    more = ("--load", "read=1", "--profile", str(profile))
    assert run(files["topology"], "--plan", files["plan"], *more) == 1
    assert f"{profile}: topology: 'trio' is not 'pair'" in capsys.readouterr().err


def test_a_backlog__and_an_overload_tell_when_the_lag_passes_its_target(
    capsys: pytest.CaptureFixture[str], files: dict[str, str]
) -> None:
    # 600/s come, 500/s are processed: 180 s of lag are 90,000 tuples; 10,000 wait already
    told = answer(capsys, files, "--load", "read=600", "--backlog", "read=10000")
    assert told["time_to_violation_s"] == pytest.approx(800)
    assert told["drain_wait_s"] == pytest.approx(20)
    assert answer(capsys, files, "--load", "read=400")["time_to_violation_s"] is None
    more = ("--load", "read=600", "--backlog", "write=1")
    assert run(files["topology"], "--plan", files["plan"], *more) == 1
    assert "--backlog names 'write', which is no source" in capsys.readouterr().err


def test_a_page__is_drawn_of_plans_beside_the_tables_and_beside_the_answer_for_machines(
    capsys: pytest.CaptureFixture[str], files: dict[str, str], tmp_path: Path
) -> None:
    page, folder = tmp_path / "plans.html", tmp_path / "source=read"
    write_forecast(_forecast(), folder)
    given = (files["topology"], "--plan", files["plan"], "--load", str(folder), "--plot", str(page))
    assert run(*given, "--plan", files["running"]) == 0
    assert f"drawn in {page}" in " ".join(capsys.readouterr().out.split())
    # 150/s on one instance that takes 250/s is 67 % more at most
    text = page.read_text()
    assert (
        "Both plans carry read 150/s; running.yaml is the smallest of them, with 67\N{NO-BREAK SPACE}% headroom" in text
    )
    assert "forecast peak: p50 100/s, p95 150/s, p99 200/s" in text
    page.unlink()
    assert run(*given, "--json") == 0
    assert list(json.loads(capsys.readouterr().out)) == [files["plan"]]
    assert "plan.yaml carries read 150/s" in page.read_text()


def test_a_page__that_cannot_be_written_is_an_error_in_one_line(
    capsys: pytest.CaptureFixture[str], files: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    given = (files["topology"], "--plan", files["plan"], "--load", "read=1")
    for path, message in ((tmp_path / "file" / "page.html", "check the path"), ("page.pdf", "one that ends in .html")):
        assert run(*given, "--plot", str(path)) == 1
        error = capsys.readouterr().err
        assert message in error
        assert error.count("\n") == 1


def test_plans__whose_files_are_called_alike_are_told_apart_by_their_folders() -> None:
    named = shown_names([Path("/plans/a/busy.yaml"), Path("/plans/b/busy.yaml"), Path("/plans/b/night.yaml")])
    assert list(named.values()) == ["a/busy.yaml", "b/busy.yaml", "b/night.yaml"]
    assert list(shown_names([Path("/plans/a.yaml"), Path("b.yaml")]).values()) == ["a.yaml", "b.yaml"]
    assert list(shown_names([Path("a.yaml"), Path("x/a.yaml")]).values()) == ["a.yaml", "x/a.yaml"]


def shown(capsys: pytest.CaptureFixture[str], files: dict[str, str], *more: str) -> str:
    assert run(files["topology"], "--plan", files["plan"], *more) == 0
    return " ".join(capsys.readouterr().out.split())


def test_a_full_container__is_marked_and_named_where_the_plan_says_how_much_it_takes(
    capsys: pytest.CaptureFixture[str], files: dict[str, str], tmp_path: Path
) -> None:
    small = tmp_path / "small.yaml"
    small.write_text("containers: {cores: 0.4}\n")
    text = shown(capsys, files, "--site", str(small), "--load", "read=100")
    # container 1 computes 100 · 1 ms + 50 · 4 ms, 0.3 of 0.4 cores
    assert "processed 100/s, at most 133.3/s (container 1)" in text
    assert "1 ← bottleneck" in text
    assert "count ← bottleneck" not in text
    full = shown(capsys, files, "--site", str(small), "--load", "read=200")
    # 0.6 of 0.4 cores; 200/s come and 133.3/s are processed
    assert "unstable: container 1 is full; the backlog grows by read 66.67/s" in full
    assert full.count("spread its instances over more containers, or give it more") == 1


def test_a_full_link__is_not_told_to_spread_instances(
    capsys: pytest.CaptureFixture[str], files: dict[str, str], tmp_path: Path
) -> None:
    narrow = tmp_path / "narrow.yaml"
    narrow.write_text(SITE.replace("mbit_per_s: 100}", "mbit_per_s: 0.1}").replace("factor: 2", "factor: 1"))
    # 50/s · 8000 bits of 0.1 Mbit/s are four times as much as there is
    text = shown(capsys, files, "--site", str(narrow), "--load", "read=100")
    assert "unstable: network near → far is full; the backlog grows by read 75/s" in text
    assert text.count("place what talks over it on one node, or widen the link") == 1


def test_a_plan__that_nothing_fills_has_no_bound_and_no_bottleneck(
    capsys: pytest.CaptureFixture[str], files: dict[str, str], tmp_path: Path
) -> None:
    free = tmp_path / "free.json"
    free.write_text('{"topology": "pair", "operators": {"read": {"service_s": 0}, "count": {"service_s": 0}}}')
    text = shown(capsys, files, "--load", "read=100", "--profile", str(free))
    assert "read: offered 100/s, processed 100/s, no bound" in text
    assert "bottleneck" not in text
    idle = shown(capsys, files, "--load", "read=0")
    assert "read: offered nothing, so what it could carry is not known; give it a --load above 0" in idle
    assert "bottleneck" not in idle


def test_the_mean_latency__is_that_of_the_tuples_whose_percentiles_stand_beside_it(
    capsys: pytest.CaptureFixture[str], files: dict[str, str]
) -> None:
    mean_s = answer(capsys, files, "--load", "read=400")["latency"]["mean_s"]
    assert f"mean latency {mean_s * 1e3:.3g} ms, p50 " in shown(capsys, files, "--load", "read=400")


def test_an_overload__is_excused_with_the_change_that_mends_it(
    capsys: pytest.CaptureFixture[str], files: dict[str, str]
) -> None:
    declare(files, "max_lag_s: 60")
    told = answer(capsys, files, "--load", "read=600")
    # 600/s · 4 ms are 2.4 instances of work, 2.82 at 85 %: 3
    assert {excuse["target"] for excuse in told["excuses"]} == {"throughput", "lag", "utilisation"}
    assert all(excuse["change"] == {"count": 3} for excuse in told["excuses"])
    assert told["violation"]["targets"]["lag"] == {"probability": 1, "error": 0, "seconds": pytest.approx(3600 - 300)}


def test_errors_of_the_profile__become_intervals_and_probabilities(
    capsys: pytest.CaptureFixture[str], files: dict[str, str], tmp_path: Path
) -> None:
    profile = tmp_path / "profile.json"
    profile.write_text('{"topology": "pair", "operators": {"count": {"service_s": 0.004, "service_s_error": 0.0004}}}')
    told = answer(capsys, files, "--load", "read=500", "--profile", str(profile))
    # just full: half of the draws are above; 90 % of a log-normal of 10 % lie within about 1.645 · 10 %
    assert told["violation"]["targets"]["throughput"]["probability"] == pytest.approx(0.48, abs=0.03)
    low, high = told["intervals"]["mst_per_s"]["read"]
    assert (low, high) == pytest.approx((500 / 1.173, 500 / 0.845), rel=0.02)
    assert answer(capsys, files, "--load", "read=500")["intervals"]["mst_per_s"]["read"] == pytest.approx([500, 500])


def test_a_node__that_no_link_leads_to_is_refused_with_the_plan_that_names_it(
    capsys: pytest.CaptureFixture[str], files: dict[str, str], tmp_path: Path
) -> None:
    lost = tmp_path / "lost.yaml"
    lost.write_text(PLAN.replace("far", "mars"))
    more = ("--plan", str(lost), "--site", files["site"], "--load", "read=1")
    assert run(files["topology"], *more) == 1
    assert (
        f"{lost}: container 2: no link of the site leads to node 'mars'; they join far, near: add a link to it, "
        "or correct the node"
    ) in capsys.readouterr().err


def test_a_load__that_is_nothing_of_the_three_is_refused(
    capsys: pytest.CaptureFixture[str], files: dict[str, str]
) -> None:
    assert run(files["topology"], "--plan", files["plan"], "--load", "forecasts/none") == 1
    assert "SOURCE=NUMBER, a folder of a forecast or 'forecast'" in capsys.readouterr().err
    assert run(files["topology"], "--plan", files["plan"], "--load", "forecast") == 1
    assert "has no forecast of source 'read'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nodes: {far: {service_factor: 0}}", "nodes.far.service_factor"),
        ("links: [{from: a, to: b, delay_ms: .nan}]", "links.0.delay_ms"),
        ("streams: {a->b: {bytes_per_tuple: 1}}", "bytes_per_tuple.a->b is no stream of topology 'pair'; they are"),
        ("checkpoints: {interval_s: -1, duration_s: 1}", "checkpoints.interval_s"),
        ("containers: {core: 1}", "containers.core is not a known field"),
        ("[1, 2]", "site file"),
        ("rescale: {measured: [{downtime_s: -3}]}", "rescale.measured.0.downtime_s"),
    ],
)
def test_a_site_file__that_cannot_be_is_refused_by_field(
    capsys: pytest.CaptureFixture[str], files: dict[str, str], tmp_path: Path, text: str, message: str
) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text(text)
    more = ("--site", str(bad), "--load", "read=1")
    assert run(files["topology"], "--plan", files["plan"], *more) == 1
    error = capsys.readouterr().err
    assert "bad.yaml" in error
    assert message in error
    assert "Traceback" not in error


def _forecast() -> Forecast:
    """The peak's p50 is 100/s and its p95 150/s."""
    return pair_forecast([100.0, 140.0, 150.0, 200.0], np.linspace(50, 200, 200))


def test_without_a_plan__it_is_the_one_that_runs(
    files: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    end = datetime.now(UTC).replace(second=0, microsecond=0) + timedelta(hours=1)
    start = end - timedelta(hours=2)
    source = SourceArrivals(np.full(120, 3000), np.array([[0, 2**62]]))
    write_history(
        Arrivals(start, end, 60, Measures.OFFERED, {"read": source}), tmp_path / "home/truth", "pair", start, end
    )
    words = ["model", "evaluate", files["topology"], "--load", "read=100"]
    with pytest.raises(SystemExit, match="0"):
        main([*words, "--json"])
    told = json.loads(capsys.readouterr().out)
    # The simulator begins with two instances of count at 250/s each.
    assert {name: one["mst_per_s"]["read"] for name, one in told.items()} == {"the plan that runs": pytest.approx(500)}


def test_without_a_load__it_is_the_newest_forecast_and_its_lack_is_said(
    files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="1"):
        main(["model", "evaluate", files["topology"], "--plan", files["plan"]])
    assert "forecast" in capsys.readouterr().err
