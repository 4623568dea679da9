"""Wishes that nobody can grant, through the command line: each gets an excuse or an error that says what to change."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from shadow_days import NAME, TOPOLOGY, forecast_now, install

from forescale.cli.main import main
from forescale.settings import Settings

pytestmark = [pytest.mark.mlflow, pytest.mark.slow]

SITE = "containers: {cores: 4}\nnodes: {fast: {price_per_hour: 1.0}, slow: {}}\n"
PACKING = "packing: {packer: first_fit_decreasing, site: site.yaml}\n"


@pytest.fixture(scope="module")
def mlruns(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mlruns")


@pytest.fixture
def settings(tmp_path: Path, mlruns: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """8 instances of count run, each of which carries 10/s; 60/s come by day and 10/s by night."""
    made = install(tmp_path, "act").model_copy(update={"mlruns": mlruns})
    values = {"HOME": made.home, "TOPOLOGIES": tmp_path, "MLRUNS": mlruns, "CLOCK": "trace"}
    for name, value in values.items():
        monkeypatch.setenv(f"FORESCALE_{name}", str(value))
    return made


def wish(settings: Settings, planning: str = "", more: str = "", operators: str = "", running: int = 8) -> None:
    """Terms beside those of the topology file."""
    text = TOPOLOGY.replace("MODE", "act")
    text = re.sub(
        r"rescale_cost_instance_hours: .*}$", f"rescale_cost_instance_hours: 1.0{planning}}}", text, flags=re.MULTILINE
    )
    text = text.replace("count: {service_s: 0.1}", f"count: {{service_s: 0.1{operators}}}")
    text = text.replace("count: 8}", f"count: {running}}}")
    (settings.topologies / f"{NAME}.yaml").write_text(text + more)


def answered(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit code, and what is said; lines are joined as a terminal wraps them."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    said = capsys.readouterr()
    assert "Traceback" not in said.err
    return int(ended.value.code or 0), said.out, " ".join(said.err.split())


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    code, _, error = answered(capsys, *arguments)
    assert code != 0
    assert error
    return error


def planned(settings: Settings, capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """The schedule for a forecast of the next day; it is told on the terminal too."""
    forecast_now(settings)
    code, out, error = answered(capsys, "plan", NAME, "--json", *arguments)
    assert code == 0, error
    made: dict[str, Any] = json.loads(out)
    _, words, _ = answered(capsys, "plan", NAME, *arguments)
    for excuse in made["excuses"]:
        assert " ".join(excuse.split()) in " ".join(words.split())
    return made


def excuse_of(made: dict[str, Any]) -> str:
    return " | ".join(made["excuses"])


def test_a_target_out_of_reach_at_max_parallelism__has_an_excuse_that_says_which_to_raise(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    wish(settings, ", max_parallelism: {count: 4}", running=4)
    made = planned(settings, capsys)
    # 60/s at .1 s keep 6 instances busy.
    assert re.search(
        r"utilisation with 4 instances .* of count is beyond .*raise max_parallelism of count to 7", excuse_of(made)
    )
    assert "no plan within the limits keeps that" in made["why"]


def test_a_target_out_of_reach_with_max_instances__has_an_excuse_that_says_how_many_would_do(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    wish(settings, ", max_instances: 5")
    assert re.search(r"raise max_instances to \d+", excuse_of(planned(settings, capsys)))


def test_a_latency_that_no_plan_holds__has_an_excuse_that_says_what_to_change(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    wish(settings, ", max_latency_s: 0.05")
    assert "allow more latency, or make the operators faster" in excuse_of(planned(settings, capsys))


def test_a_quota_below_the_running_plan__says_what_runs_and_what_to_raise_it_to(
    settings: Settings, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    forecast_now(settings)
    (tmp_path / "fleet.txt").write_text("quota: {instances: 4}\n")
    error = refused(capsys, "plan", "--all", "--fleet", str(tmp_path / "fleet.txt"), "--workers", "1")
    assert "the quota is 4 instances, and 9 run now (pair 9); raise it to 9 or more, or scale one down first" in error


def test_limits_that_contradict_each_other__are_refused_by_name(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    wish(settings, ", min_parallelism: {count: 6}, max_parallelism: {count: 4}")
    error = refused(capsys, "plan", NAME)
    assert "planning: min_parallelism of count is 6, and at most 4 are allowed; lower it" in error


def test_fewest_instances_beyond_the_key_groups__say_which_to_change(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    wish(settings, ", min_parallelism: {count: 6}", operators=", max_parallelism: 4")
    error = refused(capsys, "plan", NAME)
    assert "planning.min_parallelism of count is 6" in error
    assert "lower the one or raise the other" in error


def test_a_budget_and_a_price_of_violations__are_one_too_many(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    wish(settings, ", allow: 0.01, price_per_violation_minute: 2")
    assert "allow and price_per_violation_minute are both given" in refused(capsys, "plan", NAME)


def test_limits_of_an_unknown_operator__name_those_that_are_known(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    wish(settings, ", max_parallelism: {cuont: 4}")
    error = refused(capsys, "plan", NAME)
    assert "planning.max_parallelism names the unknown operator 'cuont'; known are read, count" in error


def test_an_unknown_node__is_named_beside_those_of_the_site(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.home.mkdir(parents=True, exist_ok=True)
    (settings.home / "site.yaml").write_text("containers: {cores: 4}\nnodes: {fast: {price_per_hour: 1.0}}\n")
    forecast_now(settings)
    wish(settings, more=PACKING.replace("}", ", nodes: {slow: 2}}"))
    error = refused(capsys, "plan", NAME)
    assert "packing.nodes names 'slow', which the site does not have; its nodes are fast: correct it" in error


def test_a_node_without_a_price_beside_others__says_where_to_give_one(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.home.mkdir(parents=True, exist_ok=True)
    (settings.home / "site.yaml").write_text(SITE)
    forecast_now(settings)
    wish(settings, more=PACKING)
    error = refused(capsys, "plan", NAME)
    assert "node slow has no price, and fast have; give it a price_per_hour in the site file" in error


def test_a_site_file_that_is_not_there__is_named(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    forecast_now(settings)
    wish(settings, more=PACKING)
    error = refused(capsys, "plan", NAME)
    assert str(settings.home / "site.yaml") in error
    assert "does not exist; see docs/topology-file.md for one" in error


def test_an_operator_without_a_price_beside_others__is_told_to_count_as_all_do(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    wish(settings, operators=", price_per_hour: 0.5")
    made = planned(settings, capsys)
    assert made["price"] is None
    report = Path(made["report"]).read_text(encoding="utf-8")
    assert "no price: the price of an instance of read is not known; declare price_per_hour" in report


def test_approval_by_a_price_that_nobody_tells__is_asked_for_and_says_why(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    wish(settings, ", auto_approve: {max_cost_price: 10}")
    made = planned(settings, capsys)
    assert made["asks"]
    _, steps, _ = answered(capsys, "plan", "list", NAME, "--json")
    assert "give operators, or the site of the section packing, a price_per_hour" in steps


def test_containers_that_hold_no_larger_plan__have_an_excuse_that_says_what_to_offer(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.home.mkdir(parents=True, exist_ok=True)
    (settings.home / "site.yaml").write_text("containers: {cores: 2, price_per_hour: 1.0}\n")
    wish(settings, more=PACKING.replace("}", ", max_containers: 2}"))
    made = planned(settings, capsys)
    assert "cannot be packed" in excuse_of(made)
    assert "offer more or larger containers, or more nodes, in the section packing" in excuse_of(made)


def test_a_fleet_without_topologies__is_told_where_they_belong(
    settings: Settings, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.setenv("FORESCALE_TOPOLOGIES", str(empty))
    error = refused(capsys, "plan", "--all", "--workers", "1")
    assert str(empty) in error
    assert re.search(r"FORESCALE_TOPOLOGIES|forescale init", error)


def test_a_fleet_file_that_shares_nothing__says_what_to_give(
    settings: Settings, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "fleet.txt").write_text("groups: {}\n")
    error = refused(capsys, "plan", "--all", "--fleet", str(tmp_path / "fleet.txt"), "--workers", "1")
    assert "nothing is shared; give a quota, groups or stagger" in error


def test_a_topology_without_a_forecast_or_a_history__is_held_and_says_why(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    wish(settings, ", stale_s: 60")
    code, out, error = answered(capsys, "plan", NAME, "--json")
    assert code == 0, error
    made = json.loads(out)
    assert made["rung"] != "forecast"
    assert "there is no forecast of read" in made["cause"]


def test_a_candidate_beyond_the_limits__says_which_to_raise(
    settings: Settings, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    forecast_now(settings)
    wish(settings, ", max_parallelism: {count: 9}")
    (tmp_path / "wide.json").write_text(json.dumps({"topology": NAME, "parallelism": {"read": 1, "count": 12}}))
    error = refused(capsys, "plan", NAME, "--candidates", str(tmp_path / "wide.json"))
    assert "wide.json has 12 instances of count > planning.max_parallelism of 9; leave it out, or raise that" in error
    wish(settings, ", min_parallelism: {count: 13}")
    error = refused(capsys, "plan", NAME, "--candidates", str(tmp_path / "wide.json"))
    assert "wide.json has 12 instances of count < planning.min_parallelism of 13; leave it out, or lower that" in error


def test_an_edit_past_limits_that_protect_the_job__needs_an_override_and_a_reason_that_is_kept(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    wish(settings, ", max_step: 8")
    made = planned(settings, capsys)
    step = made["steps"][0]["step_id"]
    wanted = ("plan", "edit", step, "--plan", "count=20", "--by", "anna")
    error = refused(capsys, *wanted)
    assert "12 instances start or stop > planning.max_step of 8" in error
    assert "--override --why REASON" in error
    assert "overridden without a reason; say why" in refused(capsys, *wanted, "--override")
    code, out, error = answered(capsys, *wanted, "--override", "--why", "the shop opens", "--json")
    assert code == 0, error
    told = json.loads(out)
    assert any("planning.max_step of 8" in limit for limit in told["passed"])
    _, listed, _ = answered(capsys, "plan", "list", NAME, "--json")
    assert told["schedule_id"] in listed
    report = Path(told["report"]).read_text(encoding="utf-8")
    assert "the shop opens" in report
    assert "planning.max_step of 8" in report


def test_an_edit_of_a_step_within_a_freeze__needs_no_second_override_of_the_same_freeze(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    wish(settings, ', freeze: [{from: "20:30", until: "23:00"}]')
    made = planned(settings, capsys)
    *_, last = made["steps"]
    code, out, error = answered(
        capsys,
        *("plan", "edit", last["step_id"], "--at", "2026-03-02 21:00", "--json"),
        *("--override", "--why", "the night shift is there"),
    )
    assert code == 0, error
    let_in = json.loads(out)
    assert any("2026-03-02 21:00 UTC is within planning.freeze" in limit for limit in let_in["passed"])
    code, out, error = answered(capsys, "plan", "edit", let_in["step_id"], "--plan", "count=4", "--json")
    assert code == 0, error
    again = json.loads(out)
    assert again["passed"] == []
    # Another moment of the freeze is another decision.
    error = refused(capsys, "plan", "edit", again["step_id"], "--at", "2026-03-02 21:30")
    assert "2026-03-02 21:30 UTC is within planning.freeze" in error


def test_an_edit_to_a_plan_that_its_containers_cannot_hold__is_refused_with_the_packers_reason(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.home.mkdir(parents=True, exist_ok=True)
    (settings.home / "site.yaml").write_text("containers: {cores: 4, price_per_hour: 1.0}\n")
    wish(settings, more=PACKING.replace("}", ", max_containers: 3}"))
    made = planned(settings, capsys)
    error = refused(capsys, "plan", "edit", made["steps"][0]["step_id"], "--plan", "count=30")
    assert "read 1 · count 30 cannot be packed" in error
