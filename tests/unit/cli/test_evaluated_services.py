"""`forescale model evaluate` of micro-services: where they saturate as their calls hold threads, by hand."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from forescale.cli import main

SHOP = Path(__file__).parents[3] / "examples" / "services" / "shop.yaml"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FORESCALE_HOME", str(tmp_path / "home"))
    return tmp_path


def shop(home: Path, **changes: object) -> Path:
    """The example with other fields of its section `services`."""
    body = yaml.safe_load(SHOP.read_text())
    body["services"] |= changes
    (home / "shop.yaml").write_text(yaml.safe_dump(body))
    return home / "shop.yaml"


def shown(capsys: pytest.CaptureFixture[str], home: Path, topology: Path, counts: dict[str, int], *more: str) -> str:
    plan = home / "plan.json"
    plan.write_text(json.dumps({"topology": "shop-services", "parallelism": counts}))
    with pytest.raises(SystemExit) as ended:
        main(["model", "evaluate", str(topology), "--plan", str(plan), *more])
    captured = capsys.readouterr()
    assert ended.value.code == 0, captured.err
    return captured.out


def answered(
    capsys: pytest.CaptureFixture[str], home: Path, topology: Path, counts: dict[str, int], gate_per_s: float = 1
) -> Any:
    answer = json.loads(shown(capsys, home, topology, counts, "--load", f"gate={gate_per_s}", "--json"))
    return answer[str(home / "plan.json")]


def saturation(capsys: pytest.CaptureFixture[str], home: Path, topology: Path, counts: dict[str, int]) -> Any:
    return answered(capsys, home, topology, counts)["saturation"]


def test_evaluate__says_where_declared_tiers_saturate(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    # Declared: 780, 600 and 360 ms. 2 threads of the gate never wait behind 30 of each: 2 / 780 ms.
    topology = shop(home, evaluated_threads={"gate": 2})
    full = saturation(capsys, home, topology, {"gate": 1, "orders": 5, "stock": 8})
    assert full["mst_per_s"]["gate"] == pytest.approx(2 / 0.78)
    assert full["bottleneck"] == "gate"
    assert full["own_limit_per_s"]["stock"] == pytest.approx(8 * 4 / 0.36)


def test_evaluate__counts_the_waits_for_threads_of_called_services(
    capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    # 16, 12 and 6 threads alone carry 20.5, 20 and 16.7 requests a second: together less than the least of them.
    topology = shop(home, evaluated_threads={"gate": 16, "orders": 12, "stock": 6})
    full = saturation(capsys, home, topology, {"gate": 1, "orders": 1, "stock": 1})
    assert full["bottleneck"] == "stock"
    assert full["mst_per_s"]["gate"] < full["own_limit_per_s"]["stock"] == pytest.approx(6 / 0.36)


def test_evaluate__saturates_earlier_where_calls_go_to_any_replica(
    capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    counts = {"gate": 4, "orders": 4, "stock": 4}
    shared, random = (saturation(capsys, home, shop(home, routing=each), counts) for each in ("shared", "random"))
    assert random["mst_per_s"]["gate"] < shared["mst_per_s"]["gate"]
    assert random["own_limit_per_s"] == shared["own_limit_per_s"]


def test_evaluate__shows_people_which_service_is_short(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    text = shown(capsys, home, shop(home), {"gate": 9, "orders": 9, "stock": 1}, "--load", "gate=5")
    assert "with all threads held" in text
    assert "short of threads or CPU: stock" in text
    assert "service times of gate, orders, stock are placeholders" in text


def test_evaluate__says_where_the_load_is_beyond_the_threads(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    topology = shop(home, evaluated_threads={"gate": 2})
    text = shown(capsys, home, topology, {"gate": 1, "orders": 5, "stock": 8}, "--load", "gate=3")
    assert "it saturates: gate at 2.564/s; short of threads or CPU: gate" in text
    # The page of --plot has no table of threads.
    assert "note: threads that wait for calls let at most gate 2.564/s through, less than is offered" in text
    assert "note: waits, latencies and cores are those of a stream's operators, not of requests" in text


def test_evaluate__answers_the_rest_where_saturation_is_unknown(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    topology, counts = shop(home), {"gate": 2, "orders": 1, "stock": 1}
    topology.write_text(topology.read_text().replace("service_s: 0.0975", "service_s: 0.01"))
    answer = json.loads(shown(capsys, home, topology, counts, "--load", "gate=1", "--json"))[str(home / "plan.json")]
    assert answer["saturation"] is None
    assert answer["mst_per_s"]["gate"] > 0
    why = (
        "saturation by threads is unknown: service 'gate' holds a thread for 0.08 s, but its calls take 0.6 s; see "
        "that its calls do not overlap, and that both histograms count the same requests"
    )
    assert why in answer["notes"]


def test_evaluate__of_a_stream_has_no_saturation_by_threads(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    body = yaml.safe_load(SHOP.read_text())
    del body["services"]
    (home / "stream.yaml").write_text(yaml.safe_dump(body))
    counts = {"gate": 1, "orders": 1, "stock": 1}
    assert saturation(capsys, home, home / "stream.yaml", counts) is None
    assert "threads" not in shown(capsys, home, home / "stream.yaml", counts, "--load", "gate=1")


def test_evaluate__counts_a_load_beyond_the_threads_as_missed(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    # 2 threads of the gate carry 2 / 780 ms = 2.564/s of the 3/s offered: .436/s stay behind.
    topology = shop(home, evaluated_threads={"gate": 2})
    answer = answered(capsys, home, topology, {"gate": 1, "orders": 5, "stock": 8}, 3)
    assert answer["throughput_per_s"]["gate"] == answer["mst_per_s"]["gate"] == pytest.approx(2 / 0.78)
    assert answer["excess_per_s"]["gate"] == pytest.approx(3 - 2 / 0.78)
    assert not answer["stable"]
    assert answer["violation"]["targets"]["throughput"]["probability"] == 1


def test_evaluate__carries_more_with_more_threads_of_each_replica(
    capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    # Twice the threads of calibration carry 16 / 780 ms = 20.5/s at most, where the 8 of then would carry 10.3/s.
    topology = shop(home, evaluated_threads={"gate": 16})
    answer = answered(capsys, home, topology, {"gate": 1, "orders": 9, "stock": 9}, 14)
    assert answer["stable"]
    assert answer["mst_per_s"]["gate"] == pytest.approx(16 / 0.78, rel=0.01)
    assert answer["operators"]["gate"]["utilisation"] == pytest.approx(14 * 0.78 / 16)
    assert not answer["excuses"]
    assert answer["violation"]["targets"]["throughput"]["probability"] == 0


def test_evaluate__ranks_services_by_what_their_threads_let_through(
    capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    # 7 threads of 780 ms carry 8.97/s of 10/s, 14 would 17.9/s; two replicas of orders and stock 20 and 22/s.
    topology = shop(home, evaluated_threads={"gate": 7})
    tight, wide = (home / name for name in ("tight.json", "wide.json"))
    for path, gates in ((tight, 1), (wide, 2)):
        counts = {"gate": gates, "orders": 2, "stock": 2}
        path.write_text(json.dumps({"topology": "shop-services", "parallelism": counts}))
    plans = ["--plan", str(tight), "--plan", str(wide)]
    with pytest.raises(SystemExit) as ended:
        main(["model", "evaluate", str(topology), *plans, "--load", "gate=10", "--json"])
    captured = capsys.readouterr()
    assert ended.value.code == 0, captured.err
    ranking = json.loads(captured.out)["ranking"]
    assert [Path(each["plan"]).name for each in ranking] == ["wide.json", "tight.json"]
    assert [each["probability"] for each in ranking] == [0, 1]


def test_evaluate__catches_up_as_fast_as_threads_let_it(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    # 60 s without the gate leave 480 of 8/s; 7 threads of 780 ms carry 8.974/s: 480 / .974 = 492.6 s.
    topology = shop(home, evaluated_threads={"gate": 7})
    topology.write_text(topology.read_text().replace("  downtime_s: 0\n", "  downtime_s: 0\n  warm_up_s: 0\n"))
    site, running = home / "site.yaml", home / "running.json"
    site.write_text("rescale: {restart_s: 60}")
    running.write_text(json.dumps({"topology": "shop-services", "parallelism": {"gate": 1, "orders": 5, "stock": 7}}))
    more = ["--from", str(running), "--site", str(site), "--load", "gate=8", "--json"]
    text = shown(capsys, home, topology, {"gate": 1, "orders": 5, "stock": 8}, *more)
    change = json.loads(text)[str(home / "plan.json")]["rescale"]
    assert change["downtime_s"] == 60
    assert change["catch_up_s"] == pytest.approx(480 / (7 / 0.78 - 8), rel=0.01)
