"""`forescale notify` with a real webhook on loopback: each incident once, and nothing lost while a service is down."""

import shutil
import sqlite3
from contextlib import closing
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from monitored_pair import HOUR, NOW, barred_scale_up, begin_monitored, schedule_of
from webhook import Webhook

from forescale.cli.main import main
from forescale.monitoring.incidents import Incident
from forescale.settings import Settings
from forescale.wiring.parts import ledger_of
from planner.clock import TraceClock
from planner.ledger.ledger import Ledger
from planner.ledger.step_state import StepState

pytestmark = pytest.mark.slow

REVIEW, GUARD = "pair: a review waits", "pair: the guard acted"
RUNG = "pair: nothing was forecast, it is planned by: time-of-week profile"


@pytest.fixture
def webhook() -> Webhook:
    return Webhook()


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("monitored")
    begin_monitored(Settings(home=folder / "home", topologies=folder / "files", clock="trace"))
    return folder


@pytest.fixture
def ledger(installed: Path, tmp_path: Path, webhook: Webhook, monkeypatch: pytest.MonkeyPatch) -> Ledger:
    values = {"HOME": tmp_path / "home", "TOPOLOGIES": tmp_path / "files", "CLOCK": "trace"}
    for name, value in (values | {"NOTIFY_URLS": webhook.url, "REPORTS_URL": "https://scaling.example/r/"}).items():
        monkeypatch.setenv(f"FORESCALE_{name}", str(value))
    shutil.copytree(installed, tmp_path, dirs_exist_ok=True)
    made = ledger_of(Settings())
    [schedule] = made.schedules("pair")
    made.record_report(schedule.id, str(Settings().reports_dir / "pair" / "a b.html"))
    return made


def updated(folder: Path, statement: str) -> None:
    with closing(sqlite3.connect(folder / "home" / "ledger.db")) as opened, opened:
        opened.execute(statement)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["notify", *arguments])
    said = capsys.readouterr()
    return int(ended.value.code or 0), said.out, said.err


def test_notify__tells_each_incident_once_with_its_report(
    ledger: Ledger, webhook: Webhook, capsys: pytest.CaptureFixture[str]
) -> None:
    with webhook.running():
        assert run(capsys)[1].splitlines() == [f"due: {title}" for title in (REVIEW, GUARD, RUNG)]
        assert webhook.messages == []  # without --due nothing is sent
        code, out, _ = run(capsys, "--due")
        assert (code, out.splitlines()) == (0, [f"sent: {title}" for title in (REVIEW, GUARD, RUNG)])
        assert run(capsys, "--due")[:2] == (0, "nothing to send\n")
    assert webhook.titles == sorted((REVIEW, GUARD, RUNG))
    texts = {message["title"]: message["message"] for message in webhook.messages}
    assert "Mon 02 Mar 03:00 UTC: read 1 · work 5" in texts[REVIEW]
    assert texts[REVIEW].endswith("https://scaling.example/r/pair/a%20b.html")
    assert "scale-up at Mon 01:30 UTC, under-provisioned: work is full; 30/s come: work 2 → 4" in texts[GUARD]
    assert "forecast of read is 3 h old" in texts[RUNG]


def test_notify__links_to_the_pages_of_airflow_where_it_is_known(
    ledger: Ledger, webhook: Webhook, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORESCALE_SCALING_URL", "https://host.example/airflow/")
    with webhook.running():
        run(capsys, "--due")
    links = {message["title"]: message["message"].splitlines()[-1] for message in webhook.messages}
    [schedule] = ledger.schedules("pair")
    pair = "https://host.example/airflow/scaling/topologies/pair"
    assert links == {REVIEW: f"{pair}/decisions/{schedule.id}", RUNG: f"{pair}/decisions/{schedule.id}", GUARD: pair}


def test_notify__tells_of_a_step_that_was_undone(
    ledger: Ledger, webhook: Webhook, capsys: pytest.CaptureFixture[str]
) -> None:
    (step,) = ledger.steps(topology="pair", states=(StepState.PROPOSED,))
    way = (StepState.PROPOSED, StepState.APPROVED, StepState.DUE, StepState.DEPLOYING, StepState.ROLLED_BACK)
    for before, to in pairwise(way):
        ledger.transition(step.id, expected=before, to=to, at=NOW, by="anna", why="no slots")
    with webhook.running():
        run(capsys, "--due")
    assert webhook.titles == sorted((GUARD, RUNG, "pair: a step failed and was undone"))
    assert "no slots" in next(m["message"] for m in webhook.messages if "undone" in m["title"])


def test_notify__tells_of_the_budget_once_a_day_of_minutes_is_known(
    ledger: Ledger, webhook: Webhook, capsys: pytest.CaptureFixture[str]
) -> None:
    with webhook.running():
        run(capsys, "--due")
        assert not [title for title in webhook.titles if "budget" in title]
        # 120 minutes before, 10 of them in violation; .005 of 1500 are 7.5.
        quiet = [(NOW - timedelta(minutes=n), 0.0) for n in range(120, 1500)]
        ledger.minutes.record("pair", quiet, max_lag_s=180.0)
        run(capsys, "--due")
    told = next(m["message"] for m in webhook.messages if "budget" in m["title"])
    assert told.startswith("10 of 1,500 known minutes of the past week were in violation, 7.5 are allowed.")


def test_a_review__that_is_put_off_is_the_same_and_one_that_comes_back_is_another(
    ledger: Ledger, webhook: Webhook, capsys: pytest.CaptureFixture[str]
) -> None:
    def planned(count: int, minutes: int) -> int:
        """Reviews that were told of once this is proposed."""
        wait = HOUR + timedelta(minutes=minutes)
        clock.advance_to(NOW + timedelta(minutes=minutes))
        steps = () if not count else ((count, wait),)
        ledger.record_schedule(schedule_of(*steps, after=timedelta(minutes=minutes)))
        run(capsys, "--due")
        return webhook.titles.count(REVIEW)

    clock = TraceClock(Settings().clock_file)
    with webhook.running():
        run(capsys, "--due")
        # As proposed before, ten minutes later; another plan; none; the first one again.
        assert [planned(*of) for of in ((5, 10), (6, 20), (0, 30), (5, 40))] == [1, 2, 2, 3]


def test_a_review__is_not_told_again_when_one_of_its_steps_has_passed(
    ledger: Ledger, webhook: Webhook, capsys: pytest.CaptureFixture[str]
) -> None:
    def told() -> int:
        run(capsys, "--due")
        return webhook.titles.count(REVIEW)

    with webhook.running():
        ledger.record_schedule(schedule_of((5, HOUR), (3, 2 * HOUR), after=timedelta(minutes=1)))
        assert told() == 1
        first, _ = ledger.steps(topology="pair", states=(StepState.PROPOSED,))
        at, why = NOW + timedelta(minutes=2), "not now"
        ledger.transition(first.id, expected=first.state, to=StepState.VETOED, at=at, by="anna", why=why)
        assert told() == 1
        # Planned again: the step that remains is the same, and then another one comes after it.
        TraceClock(Settings().clock_file).advance_to(NOW + timedelta(minutes=5))
        ledger.record_schedule(schedule_of((3, 2 * HOUR), after=timedelta(minutes=3)))
        assert told() == 1
        ledger.record_schedule(schedule_of((3, 2 * HOUR), (6, 3 * HOUR), after=timedelta(minutes=4)))
        assert told() == 2


def test_a_damaged_row__is_told_of_beside_all_that_can_be_read(
    tmp_path: Path, ledger: Ledger, webhook: Webhook, capsys: pytest.CaptureFixture[str]
) -> None:
    (Settings().topologies / "broken.yaml").write_text("topology: [")
    [action] = ledger.guard.actions("pair")
    damage = "pair: not all of it can be read"
    with webhook.running():
        updated(tmp_path, "UPDATE guard_actions SET before = '['")
        code, _, err = run(capsys, "--due")
        assert webhook.titles == sorted((REVIEW, RUNG, damage, "broken: it cannot be read"))
        assert code == 1
        row = f"row of guard_actions with id {action.id} is damaged: before is '['"
        assert f"forescale: topology pair: {row}" in err
        assert row in next(message["message"] for message in webhook.messages if message["title"] == damage)
        assert run(capsys, "--due")[:2] == (1, "nothing to send\n")
        updated(tmp_path, "UPDATE guard_actions SET before = '{}'")
        run(capsys, "--due")
    assert webhook.titles == sorted((REVIEW, RUNG, GUARD, damage, "broken: it cannot be read"))


def test_a_damaged_notice__is_sent_again_and_hides_no_other_message(
    tmp_path: Path,
    ledger: Ledger,
    webhook: Webhook,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    with webhook.running():
        run(capsys, "--due")
        updated(tmp_path, "UPDATE notices SET begun_at = 'x' WHERE kind = 'review'")
        updated(tmp_path, "DELETE FROM notices WHERE kind = 'guard'")
        assert run(capsys) == (0, f"due: {REVIEW}\ndue: {GUARD}\n", "")
        code, out, _ = run(capsys, "--due")
        assert (code, out) == (0, f"sent: {REVIEW}\nsent: {GUARD}\n")
        assert "row of notices" in caplog.text
        assert "kind review" in caplog.text
        assert run(capsys, "--due")[:2] == (0, "nothing to send\n")


def test_a_report_that_is_no_path__is_named_and_silences_nothing_else(
    tmp_path: Path, ledger: Ledger, webhook: Webhook, capsys: pytest.CaptureFixture[str]
) -> None:
    updated(tmp_path, "UPDATE schedules SET report = x'ff'")
    with webhook.running():
        run(capsys, "--due")
    assert GUARD in webhook.titles
    assert "pair: not all of it can be read" in webhook.titles


def test_a_defect_in_what_is_looked_for__is_told_and_ends_no_incident(
    ledger: Ledger, webhook: Webhook, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def defect(*_: object) -> list[Incident]:
        raise TypeError

    with webhook.running():
        run(capsys, "--due")
        with monkeypatch.context() as broken:
            broken.setattr("forescale.monitoring.notify.incidents", defect)
            code, _, err = run(capsys, "--due")
        assert code == 1
        assert "incidents: TypeError; see the log" in err
        run(capsys, "--due")
    assert [title for title in webhook.titles if title in (REVIEW, GUARD, RUNG)] == sorted((REVIEW, GUARD, RUNG))


def test_a_service__that_is_down_is_told_later_and_no_other_twice(
    ledger: Ledger, webhook: Webhook, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    other = Webhook()
    monkeypatch.setenv("FORESCALE_NOTIFY_URLS", f"{webhook.url} {other.url}")
    other.status = 503
    with webhook.running(), other.running():
        code, out, err = run(capsys, "--due")
        assert code == 1
        assert err == "forescale: service 2 of FORESCALE_NOTIFY_URLS refused a message; it is tried again\n"
        assert (out.count("sent: "), out.count("due: ")) == (3, 3)
    assert run(capsys, "--due")[0] == 1  # now nobody answers
    other.status = 200
    with webhook.running(), other.running():
        assert run(capsys, "--due")[0] == 0
    assert webhook.titles == other.titles == sorted((REVIEW, GUARD, RUNG))


def test_secrets__stay_in_the_setting(
    tmp_path: Path,
    ledger: Ledger,
    webhook: Webhook,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("DEBUG")
    down = run(capsys, "--due", "--json")
    with webhook.running():
        told = run(capsys, "--due")
    monkeypatch.setenv("FORESCALE_NOTIFY_URLS", f"{webhook.url} nonsense://anna:sesame42@there")
    wrong = run(capsys, "--due")
    assert (down[0], told[0], wrong[0]) == (1, 0, 1)
    assert "URL 2 of FORESCALE_NOTIFY_URLS is unknown to Apprise" in wrong[2]
    everything = "".join(map(str, (down, told, wrong, Settings().shown(), caplog.text)))
    assert "sesame42" not in everything
    files = [file for file in (tmp_path / "home").rglob("*") if file.is_file()]
    assert (tmp_path / "home" / "ledger.db") in files
    assert not [file for file in files if b"sesame42" in file.read_bytes()]


def test_notify__without_a_service_says_which_setting_lacks(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("FORESCALE_NOTIFY_URLS")
    code, _, err = run(capsys, "--due")
    assert (code, err) == (1, "forescale: no service to send messages to; set FORESCALE_NOTIFY_URLS to Apprise URLs\n")


def test_an_old_incident__is_no_news(ledger: Ledger, webhook: Webhook, capsys: pytest.CaptureFixture[str]) -> None:
    TraceClock(Settings().clock_file).advance_to(NOW + timedelta(days=4))
    assert GUARD not in run(capsys)[1]
    barred_scale_up(ledger_of(Settings()), number=4 * 1440 - 20)
    assert GUARD in run(capsys)[1]
