"""`forescale replay --live` as a user meets it: a table by day, JSON, a page, and one line for what is lacking."""

import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from shadow_days import NAME, set_mode

from forecasting.arrivals.arrival_source import Arrivals, Measures, SourceArrivals
from forecasting.arrivals.store import write_history
from forescale.cli.main import main
from forescale.settings import Settings
from forescale.wiring.parts import ledger_of
from modeling.inputs.physical_plan import PhysicalPlan
from planner.clock import TraceClock
from planner.scaling_schedule import ScalingSchedule, ScheduledStep

MONDAY = datetime(2026, 3, 2, tzinfo=UTC)


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    for name, value in (("HOME", tmp_path / "home"), ("TOPOLOGIES", tmp_path), ("CLOCK", "trace")):
        monkeypatch.setenv(f"FORESCALE_{name}", str(value))
    monkeypatch.chdir(tmp_path)
    set_mode(tmp_path, "shadow")
    made = Settings()
    source = SourceArrivals(np.full(2 * 1440, 600, dtype=np.int64), np.array([[0, 2**62]]))
    arrivals = Arrivals(MONDAY, MONDAY + timedelta(days=2), 60, Measures.OFFERED, {"read": source})
    write_history(arrivals, made.history_dir, NAME, arrivals.start, arrivals.end)
    TraceClock(made.clock_file).start_at(MONDAY)
    return made


def schedule(settings: Settings) -> None:
    """From Monday's midnight on: 1 + 8 instances run, and 1 + 2 would from noon on."""
    before, after = (PhysicalPlan(NAME, {"read": 1, "count": count}) for count in (8, 2))
    noon, end = MONDAY + timedelta(hours=12), MONDAY + timedelta(days=1)
    step = ScheduledStep(
        noon, noon, noon, end, after, before, {"read": 10.0}, "count", 0.5, 2.0, 30.0, 0.0, 36.0, "less comes"
    )
    made = ScalingSchedule(NAME, MONDAY, MONDAY, end, 0.95, before, (step,), 144.0, "less comes")
    ledger_of(settings).record_schedule(made, shadow=True)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    try:
        main(["replay", "--live", *arguments])
        code = 0
    except SystemExit as ended:
        code = int(ended.code or 0)
    said = capsys.readouterr()
    return code, said.out, said.err


def test_a_day__stands_beside_what_really_ran(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    schedule(settings)
    assert run(capsys, "--observe", NAME)[0] == 0
    TraceClock(settings.clock_file).advance_to(MONDAY + timedelta(days=1, hours=2))
    code, out, _ = run(capsys, "--observe", NAME, "--json")
    assert code == 0
    # One a minute since the first, and that one stands for the minute that ended then.
    assert json.loads(out)["recorded"] == 26 * 60

    code, out, _ = run(capsys, NAME)
    assert code == 0
    words = " ".join(out.replace("│", " ").split())
    # 24 hours of 9 instances; 12 of 9 and 12 of 3.
    assert "2026-03-02 216 144 0 0 0 1 100 % 100 %" in words
    assert "144 instance-hours over the observed minutes, 33 % fewer than the 216" in words
    assert "missed the target for 0 minutes of the 1,440 in which the lag was measured; it was missed for 0." in words
    assert "forescale would run read 1 · count 2 now" in words
    assert words.startswith("service times of read, count are placeholders of the topology file")
    assert "containers one instance each; speeds of nodes equal; cores never short" in words.splitlines()[-1]

    code, out, _ = run(capsys, "--json", NAME, "--days", "1", "--plot", "page.html")
    told = json.loads(out)
    assert (code, told["plot"], told["days"][0]["day"]) == (0, "page.html", "2026-03-02")
    assert told["total"]["real_instance_hours"] == pytest.approx(216)
    assert {each["quantity"] for each in told["stands_on"]} >= {"service_time", "downtime", "lead"}
    assert "What forescale would have done with pair on 1 day" in Path("page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--seeds", "1", "--policies", "cron"], "--live takes no --policies, --seeds; leave out what only replays"),
        (["--set", "planning.allow=.1"], "--live takes no --set;"),
        (["--trace", "t.csv"], "--live takes no --trace;"),
        (["--observe", "--days", "3"], "--live --observe takes no --days;"),
    ],
)
def test_what_goes_with_a_replay_of_policies_alone__is_refused_by_name(
    settings: Settings, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    code, _, err = run(capsys, NAME, *options)
    assert code == 2
    assert message in " ".join(err.replace("│", " ").split())


def test_an_observation__is_of_a_live_topology(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["replay", NAME, "--observe"])
    assert ended.value.code == 2
    assert "--observe needs --live" in capsys.readouterr().err


def test_before_a_day_is_over__it_says_so(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    schedule(settings)
    run(capsys, "--observe", NAME)
    code, out, _ = run(capsys, NAME)
    assert (code, "no whole day has been accrued yet" in out) == (0, True)


def test_what_is_unknown__is_never_a_zero(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    schedule(settings)
    run(capsys, "--observe", NAME)
    TraceClock(settings.clock_file).advance_to(MONDAY + timedelta(days=1, hours=2))
    _, out, _ = run(capsys, NAME)
    words = " ".join(out.replace("│", " ").split())
    assert "2026-03-02 unknown 144 unknown 0 unknown 1 0 % 0 %" in words
    assert "the real lag was not measured" in words
    assert (
        "what ran is known for 0% of the time; run `forescale replay pair --live --observe` every few minutes" in words
    )


def test_errors__are_one_line_with_the_remedy(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, NAME)[2] == (
        "forescale: nothing was planned for topology 'pair' in shadow mode yet; run `forescale plan pair`\n"
    )
    schedule(settings)
    assert (
        "nobody has observed what topology 'pair' runs; run `forescale replay pair --live --observe`"
        in run(capsys, NAME)[2]
    )
    assert "--plot page.txt is not the name of a page" in run(capsys, NAME, "--plot", "page.txt")[2]
    set_mode(settings.topologies, "act")
    for command in ([NAME], ["--observe", NAME]):
        code, out, err = run(capsys, *command, "--json")
        assert (code, json.loads(out)["error"]) == (1, err.removeprefix("forescale: ").strip())
        assert "not in shadow mode; set planning.mode: shadow in its file" in err


def test_without_a_history__it_says_how_to_build_one(
    settings: Settings, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    schedule(settings)
    run(capsys, "--observe", NAME)
    (settings.home / "history").rename(tmp_path / "elsewhere")
    TraceClock(settings.clock_file).advance_to(MONDAY + timedelta(days=1, hours=2))
    code, _, err = run(capsys, NAME)
    assert (code, err.count("\n"), "forescale history build" in err) == (1, 1, True)


def test_days_of_an_earlier_shadow__are_not_of_this_one(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    schedule(settings)
    run(capsys, "--observe", NAME)
    TraceClock(settings.clock_file).advance_to(MONDAY + timedelta(days=1, hours=2))
    run(capsys, NAME)
    assert [day.day for day in ledger_of(settings).shadow.days(NAME)] == [date(2026, 3, 2)]
    plan = PhysicalPlan(NAME, {"read": 1, "count": 8})
    now = MONDAY + timedelta(days=1, hours=1)
    for minute, shadow in ((0, False), (1, True)):
        made = ScalingSchedule(
            NAME, now + timedelta(minutes=minute), now, now + timedelta(days=1), 0.95, plan, (), 9.0, "hold"
        )
        ledger_of(settings).record_schedule(made, shadow=shadow)
    _, out, _ = run(capsys, NAME, "--json")
    assert json.loads(out)["days"] == []
