"""`forescale forecast peak`: the coming peak until any moment, from the forecasts that the ledger has."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from certain_forecast import record_certain_forecast

from forecasting.errors import HistoryError
from forescale.cli import main
from forescale.cli.forecast_peak import coming_moment
from forescale.settings import Settings
from planner.clock import TraceClock

NOW = datetime(2026, 3, 2, 8, tzinfo=UTC)  # a Monday
TOPOLOGY = """
topology: pair
engine: flink
operators:
  read: {service_s: 0.001}
  count: {service_s: 0.004}
streams:
  - {from: read, to: count}
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """An hour has one more than the last: 1/s from 8 o'clock on, 24/s before the same time tomorrow."""
    monkeypatch.setenv("FORESCALE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("FORESCALE_TOPOLOGIES", str(tmp_path / "topologies"))
    monkeypatch.setenv("FORESCALE_CLOCK", "trace")
    (tmp_path / "topologies").mkdir()
    (tmp_path / "topologies" / "pair.yaml").write_text(TOPOLOGY)
    settings = Settings()
    settings.home.mkdir(parents=True)
    TraceClock(settings.clock_file).start_at(NOW)
    record_certain_forecast(
        settings,
        "pair",
        np.arange(1.0, 25.0),
        step_s=3600,
        horizon_s=86400,
        issued_at=NOW,
        trained_from=NOW - timedelta(days=7),
    )
    return settings


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(("forecast", "peak", *arguments))
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_peak__until_a_time_of_the_clock(home: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("pair", "--until", "18:00", "--quantile", ".95") == 0
    told = capsys.readouterr().out
    assert "Mon 2026-03-02 08:00 to Mon 2026-03-02 18:00 UTC" in told
    # Ten hours: 1/s to 10/s.
    assert "the peak of read is at most 10" in " ".join(told.split())


def test_peak__of_a_span_as_json(home: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("pair", "--from", "10:00", "--until", "tue 08:00", "--json") == 0
    body = json.loads(capsys.readouterr().out)
    assert body["per_s"] == {"read": {"0.5": 24.0, "0.95": 24.0, "0.99": 24.0}}
    assert body["together_per_s"] is None
    assert body["timezone"] == "UTC"


def test_peak__goes_by_the_time_zone_of_the_sources(home: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    (home.topologies / "pair.yaml").write_text(f"{TOPOLOGY}sources: {{read: {{timezone: Europe/Berlin}}}}\n")
    # 18:00 in Berlin is 17:00 UTC in winter: nine hours.
    for until in ("18:00", "2026-03-02T17:00Z"):
        assert run("pair", "--until", until, "--json") == 0
        body = json.loads(capsys.readouterr().out)
        assert (body["per_s"]["read"]["0.95"], body["timezone"]) == (9.0, "Europe/Berlin")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--until", "wed 08:00"], "raise forecast.horizon_s"),
        (["--until", "noon"], "--until 'noon'"),
        (["--until", "25:00"], "is no time"),
        (["--quantile", "1.5"], "quantiles from 0.5 to 0.99, not 1.5"),
        (["--from", "12:00", "--until", "2026-03-02T11:00"], "let it end after it begins"),
    ],
)
def test_peak__refuses_what_cannot_be(
    home: Settings, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert run("pair", *arguments) == 1
    assert words in capsys.readouterr().err


def test_peak__of_forecasts_that_are_over_says_so(home: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    TraceClock(home.clock_file).start_at(NOW + timedelta(days=3))
    assert run("pair") == 1
    assert "ended at 2026-03-03 08:00 UTC; run `forescale forecast pair`" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "zone", "moment"),
    [
        ("09:00", "UTC", datetime(2026, 3, 2, 9, tzinfo=UTC)),
        ("08:00", "UTC", datetime(2026, 3, 3, 8, tzinfo=UTC)),  # it is eight: tomorrow
        ("mon 09:00", "UTC", datetime(2026, 3, 2, 9, tzinfo=UTC)),
        ("Monday 07:00", "UTC", datetime(2026, 3, 9, 7, tzinfo=UTC)),
        ("sun 12:00", "Europe/Berlin", datetime(2026, 3, 8, 11, tzinfo=UTC)),
        ("2026-03-02T10:00+02:00", "UTC", datetime(2026, 3, 2, 8, tzinfo=UTC)),
        ("2026-03-02T10:00", "Europe/Berlin", datetime(2026, 3, 2, 9, tzinfo=UTC)),
    ],
)
def test_coming_moment__is_the_next_one(text: str, zone: str, moment: datetime) -> None:
    assert coming_moment(text, "--until", NOW, zone) == moment


def test_coming_moment__after_the_clocks_change() -> None:
    # On 29 March clocks in Berlin go from 2 to 3: 09:00 is 07:00 UTC then, not 08:00.
    saturday = datetime(2026, 3, 28, 20, tzinfo=UTC)
    assert coming_moment("09:00", "--until", saturday, "Europe/Berlin") == datetime(2026, 3, 29, 7, tzinfo=UTC)


def test_coming_moment__that_the_clocks_skip_is_the_one_after() -> None:
    # On Sunday 29 March 2026 Berlin has no 02:30; on Monday, and a week later, it is at 00:30 UTC.
    saturday = datetime(2026, 3, 28, 12, tzinfo=UTC)
    monday, sunday = datetime(2026, 3, 30, 0, 30, tzinfo=UTC), datetime(2026, 4, 5, 0, 30, tzinfo=UTC)
    assert coming_moment("02:30", "--from", saturday + timedelta(hours=11), "Europe/Berlin") == monday
    assert coming_moment("sun 02:30", "--from", saturday, "Europe/Berlin") == sunday


def test_coming_moment__that_comes_twice_is_the_next_of_the_two() -> None:
    # On 25 October 2026 it is 02:30 in Berlin at 00:30 UTC, and again at 01:30.
    first = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    assert coming_moment("02:30", "--until", first - timedelta(minutes=5), "Europe/Berlin") == first
    assert coming_moment("02:30", "--until", first, "Europe/Berlin") == first + timedelta(hours=1)


def test_coming_moment__of_no_day_is_refused() -> None:
    with pytest.raises(HistoryError, match="--until 'xyz 09:00' is no time"):
        coming_moment("xyz 09:00", "--until", NOW, "UTC")
