"""`forescale model evaluate` and `pack` answer from the situation: calibration, `packing` and site of the file."""

import json
from pathlib import Path
from typing import Any

import pytest

from forescale.cli import main
from forescale.files.profile import write_profile_file
from forescale.settings import Settings
from forescale.situation.workspace import Workspace
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan

TOPOLOGY = """
topology: pair
operators:
  read: {service_s: 0.0001, cores: 0.5}
  count: {service_s: 0.001, cores: 0.5}
streams:
  - {from: read, to: count}
"""

PACKED = """
packing: {packer: first_fit_decreasing, site: site.yaml}
"""

SITE = """
containers: {cores: 2}
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FORESCALE_HOME", str(tmp_path))
    (tmp_path / "pair.yaml").write_text(TOPOLOGY)
    (tmp_path / "site.yaml").write_text(SITE)
    (tmp_path / "plan.yaml").write_text("topology: pair\nparallelism: {read: 1, count: 4}\n")
    return tmp_path


def calibrate(home: Path, count_s: float) -> None:
    profile = OperatorProfile(
        "count", count_s, samples=6, service_s_error=0.0001, intervals={"service_s": (0.9 * count_s, 1.1 * count_s)}
    )
    path = home / "profiles" / "pair.json"
    path.parent.mkdir(exist_ok=True)
    write_profile_file(path, "pair", {"count": profile}, "2026-03-02T13:31:00+00:00")


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main([*arguments])
    assert ended.value.code == 0
    return capsys.readouterr().out


def evaluated(capsys: pytest.CaptureFixture[str], home: Path, *more: str) -> dict[str, Any]:
    plan = str(home / "plan.yaml")
    arguments = (str(home / "pair.yaml"), "--plan", plan, "--load", "read=10", *more)
    answer = json.loads(run(capsys, "model", "evaluate", *arguments, "--json"))[plan]
    assert isinstance(answer, dict)
    return answer


def ground(answer: dict[str, Any], quantity: str, *of: str) -> dict[str, Any]:
    (one,) = [each for each in answer["stands_on"] if each["quantity"] == quantity and each["of"] == list(of)]
    provenance = one["provenance"]
    assert isinstance(provenance, dict)
    return provenance


def test_evaluate__uses_the_service_time_that_was_calibrated(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    # 4 instances of 1 ms, as the file declares
    assert evaluated(capsys, home)["mst_per_s"]["read"] == pytest.approx(4000)
    calibrate(home, 0.02)
    answer = evaluated(capsys, home)
    # 4 instances of 20 ms, as was measured
    assert answer["mst_per_s"]["read"] == pytest.approx(200)
    measured = ground(answer, "service_time", "count")
    assert (measured["origin"], measured["samples"]) == ("measured", 6)
    assert measured["at"].startswith("2026-03-02T13:31")
    assert measured["interval"] == pytest.approx([0.018, 0.022])
    assert ground(answer, "service_time", "read")["origin"] == "declared"


def test_evaluate__packs_a_plan_without_containers_as_the_file_says(
    capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    (home / "pair.yaml").write_text(TOPOLOGY + PACKED)
    answer = evaluated(capsys, home)
    # 5 instances that reserve half a core each fill one container of 2 cores and a fifth of them opens another.
    assert len(answer["containers"]) == 2
    # A tuple takes 1.1 ms of CPU and 4 of the 5 instances share 2 cores, so containers saturate below 4 · 1000/s.
    assert answer["mst_per_s"]["read"] < 4000
    assert ground(answer, "cores")["origin"] == "declared"


def test_evaluate__keeps_the_containers_of_a_plan_file(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    (home / "pair.yaml").write_text(TOPOLOGY + PACKED)
    instances = "[[read, 0], [count, 0], [count, 1], [count, 2], [count, 3]]"
    (home / "plan.yaml").write_text(
        "topology: pair\nparallelism: {read: 1, count: 4}\ncontainers:\n" + f"  - {{id: 7, instances: {instances}}}\n"
    )
    answer = evaluated(capsys, home)
    assert list(answer["containers"]) == ["7"]
    # 1.1 ms of CPU a tuple on 2 cores
    assert answer["mst_per_s"]["read"] == pytest.approx(2 / 0.0011)


def test_evaluate_from__keeps_the_containers_of_the_running_plan_and_gives_any_other_its_usual_capacity(
    capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    (home / "pair.yaml").write_text(TOPOLOGY + PACKED)
    instances = "[[read, 0], [count, 0], [count, 1], [count, 2], [count, 3]]"
    (home / "runs.yaml").write_text(
        "topology: pair\nparallelism: {read: 1, count: 4}\ncontainers:\n" + f"  - {{id: 7, instances: {instances}}}\n"
    )
    same = evaluated(capsys, home, "--from", str(home / "runs.yaml"))
    assert list(same["containers"]) == ["7"]
    assert same["rescale"]["downtime_s"] == 0
    (home / "plan.yaml").write_text("topology: pair\nparallelism: {read: 1, count: 6}\n")
    alone, after = evaluated(capsys, home), evaluated(capsys, home, "--from", str(home / "runs.yaml"))
    assert after["mst_per_s"] == alone["mst_per_s"]
    assert after["rescale"]["downtime_s"] > 0


def test_an_option__replaces_one_value_and_is_named(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    calibrate(home, 0.02)
    profile = home / "other.json"
    write_profile_file(profile, "pair", {"read": OperatorProfile("read", 0.01)}, "")
    answer = evaluated(capsys, home, "--profile", str(profile))
    # read takes 10 ms now, count still the measured 20 ms on 4 instances
    assert answer["mst_per_s"]["read"] == pytest.approx(100)
    assert ground(answer, "service_time", "read") == {
        "origin": "given",
        "place": f"--profile {profile}",
        "at": None,
        "samples": 0,
        "interval": None,
    }
    assert ground(answer, "service_time", "count")["origin"] == "measured"


def test_people__read_first_what_is_a_placeholder_and_last_what_the_answer_stands_on(
    capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    calibrate(home, 0.02)
    arguments = (str(home / "pair.yaml"), "--plan", str(home / "plan.yaml"), "--load", "read=10")
    lines = run(capsys, "model", "evaluate", *arguments).splitlines()
    assert lines[0].startswith("service times of read are placeholders of the topology file")
    assert "forescale model calibrate pair" in lines[0]
    assert "selectivities" not in lines[0]
    stands_on, declared, assumed = lines[-3:]
    assert stands_on.startswith("stands on: service times of count measured 2026-03-02 ")
    assert stands_on.endswith("from 6 samples")
    assert declared == "by its files: service times of read"
    assert assumed == (
        "assumed: spread of service times exponential; selectivities taken as 1; containers one instance each; "
        "speeds of nodes equal; cores never short; memory never short; links without delay; "
        "buffers sent at once; variation of arrivals Poisson"
    )


def test_the_page_of_plans__says_what_it_stands_on(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    calibrate(home, 0.02)
    page = home / "page.html"
    arguments = (str(home / "pair.yaml"), "--plan", str(home / "plan.yaml"), "--load", "read=10")
    run(capsys, "model", "evaluate", *arguments, "--plot", str(page))
    text = page.read_text(encoding="utf-8")
    assert "Service times of read are placeholders of the topology file" in text
    assert "<code>forescale model calibrate pair</code> measures them." in text
    assert "stands on: service times of count measured 2026-03-02 " in text
    assert "containers one instance each; speeds of nodes equal; cores never short" in text


def test_pack__uses_packer_and_containers_of_the_file(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    (home / "pair.yaml").write_text(TOPOLOGY + PACKED)
    topology = str(home / "pair.yaml")
    answer = json.loads(run(capsys, "model", "pack", topology, "--parallelism", "read=1,count=4", "--json"))
    assert answer["packer"] == "first_fit_decreasing"
    # 5 · 0.5 cores in containers of 2
    assert len(answer["containers"]) == 2
    call = ("model", "pack", topology, "--parallelism", "read=1,count=4", "--set", "cores=3", "--json")
    wider = json.loads(run(capsys, *call))
    assert len(wider["containers"]) == 1
    origins = {each["quantity"]: each["provenance"]["origin"] for each in wider["stands_on"]}
    assert (origins["containers"], origins["cores"]) == ("given", "given")


def test_packed__is_what_the_situation_s_packer_makes(home: Path) -> None:
    (home / "pair.yaml").write_text(TOPOLOGY + PACKED)
    situation = Workspace(Settings(home=home)).situation(str(home / "pair.yaml"))
    assert situation.placing is not None
    plan = PhysicalPlan("pair", {"read": 1, "count": 4})
    assert situation.packed(plan).packing == situation.placing.pack(plan.parallelism)
    assert situation.packed(situation.packed(plan)) == situation.packed(plan)


def test_evaluate_from__takes_as_long_as_planning_counts_on(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    (home / "pair.yaml").write_text(TOPOLOGY + "planning: {downtime_s: 47}\n")
    (home / "runs.yaml").write_text("topology: pair\nparallelism: {read: 1, count: 2}\n")
    change = ("--from", str(home / "runs.yaml"))
    answer = evaluated(capsys, home, *change)
    assert answer["rescale"]["downtime_s"] == 47
    assert ground(answer, "downtime")["origin"] == "declared"
    # The site of an option says how fast state is read, and nothing of restarts: these take Flink's usual 10 s.
    (home / "pair.yaml").write_text(TOPOLOGY.replace("count: {", "count: {state_gib: 5, "))
    (home / "slow.yaml").write_text("rescale: {restore_s_per_gib: 60}\n")
    answer = evaluated(capsys, home, *change, "--site", str(home / "slow.yaml"))
    assert answer["rescale"]["downtime_s"] == pytest.approx(10 + 5 * 60)
    assert ground(answer, "downtime")["origin"] == "given"


def test_a_lag_target__is_missed_as_the_longest_lag_after_a_cold_start_says(
    capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    # 30 s down, and 33 s of work lost while the new plan warms up, in part beside the backlog: 60 s are never waited.
    planning = "planning: {downtime_s: 30, warm_up_s: 180, max_lag_s: 60}\n"
    (home / "pair.yaml").write_text(TOPOLOGY + planning)
    (home / "runs.yaml").write_text("topology: pair\nparallelism: {read: 1, count: 2}\n")
    plan = str(home / "plan.yaml")
    arguments = (str(home / "pair.yaml"), "--plan", plan, "--load", "read=1800", "--from", str(home / "runs.yaml"))
    answer = json.loads(run(capsys, "model", "evaluate", *arguments, "--json"))[plan]
    assert 30 < answer["rescale"]["peak_lag_s"] < 40
    assert answer["violation"]["targets"]["lag"]["probability"] == 0
    lower = planning.replace("60", "30")
    (home / "pair.yaml").write_text(TOPOLOGY + lower)
    answer = json.loads(run(capsys, "model", "evaluate", *arguments, "--json"))[plan]
    assert answer["violation"]["targets"]["lag"]["probability"] == 1
    # Ranked, it is told the same.
    both = run(capsys, "model", "evaluate", *arguments, "--plan", str(home / "runs.yaml"), "--json")
    (same,) = [each for each in json.loads(both)["ranking"] if each["plan"] == plan]
    assert same["probability"] == 1
