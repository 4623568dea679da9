"""Each bound of a topology file's arrivals.quality, held against each source."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from history_rows import writer_into

from forecasting.arrivals.quality import Quality, SourceQuality
from forecasting.arrivals.store import read_history
from forescale.files.arrivals_section import QualityEntry
from forescale.history.quality_checks import QualityCheck, quality_checks, recent_checks

AT = datetime(2024, 3, 4, tzinfo=UTC)


def source(
    rows_read: int = 1000,
    duplicates: int = 0,
    late: int = 0,
    partial: int = 0,
    throttled: int = 0,
    missing: int = 0,
    **quarantined: int,
) -> SourceQuality:
    """Of 100 windows."""
    reasons = {"future": 0, "unset_clock": 0, "skipped_hour": 0, "damaged": 0} | quarantined
    observed = 100 - partial - throttled - missing
    kept = rows_read - duplicates - late - sum(reasons.values())
    return SourceQuality(rows_read, kept, duplicates, late, reasons, observed, partial, throttled, missing)


def checked(bounds: QualityEntry | None = None, **sources: SourceQuality) -> dict[tuple[str, str], QualityCheck]:
    first = next(iter(sources.values()))
    found = Quality("shop", AT, AT, 60, "s", sources, first)
    return {(check.bound, check.source): check for check in quality_checks(found, bounds or QualityEntry())}


def failed(**of: int) -> dict[str, QualityCheck]:
    return {bound: check for (bound, _), check in checked(orders=source(**of)).items() if not check.holds}


def test_history__that_keeps_to_every_bound_holds_at_the_bound_itself() -> None:
    # 90 of 100 windows observed; 10 quarantined, 10 late and 200 copies of 1000 rows.
    assert failed(missing=10, future=10, late=10, duplicates=200) == {}


def test_bound__that_is_broken_tells_value_limit_and_remedy() -> None:
    broken = failed(missing=11, unset_clock=11, late=11, duplicates=201)
    assert {bound: (check.value, check.limit) for bound, check in broken.items()} == {
        "min_observed": (0.89, 0.9),
        "max_quarantined": (0.011, 0.01),
        "max_late": (0.011, 0.01),
        "max_duplicates": (0.201, 0.2),
    }
    assert "lower not_before" in broken["max_quarantined"].remedy
    assert "raise lateness_s" in broken["max_late"].remedy
    assert "max_copy_gap_s" in broken["max_duplicates"].remedy


@pytest.mark.parametrize(
    ("lacking", "remedy"), [("missing", "coverage"), ("throttled", "held_back"), ("partial", "window_s")]
)
def test_too_few_observed__names_what_would_help_most(lacking: str, remedy: str) -> None:
    others = dict.fromkeys({"missing", "throttled", "partial"} - {lacking}, 5)
    told = failed(**{lacking: 20}, **others)["min_observed"].remedy
    assert f"most of the rest is {lacking}" in told
    assert remedy in told


def test_throttled_windows__are_remedied_by_saying_what_is_counted_and_building_them_again() -> None:
    told = failed(throttled=20)["min_observed"].remedy
    assert "measures: offered" in told
    assert "build the span again" in told


@pytest.mark.parametrize(
    ("reason", "remedy"),
    [("future", "max_ahead_s"), ("unset_clock", "not_before"), ("skipped_hour", "timezone"), ("damaged", "writer")],
)
def test_quarantine__names_the_commonest_reason(reason: str, remedy: str) -> None:
    others = dict.fromkeys({"future", "unset_clock", "skipped_hour", "damaged"} - {reason}, 10)
    assert remedy in failed(**{reason: 20}, **others)["max_quarantined"].remedy


def test_dead_source__does_not_hide_behind_those_that_live() -> None:
    found = checked(orders=source(), clicks=source(rows_read=0, missing=100), mail=source())
    assert not found["min_observed", "clicks"].holds
    assert found["min_observed", "orders"].holds
    # Of no rows, none is late.
    assert found["max_late", "clicks"].holds
    assert found["max_late", "clicks"].value == 0


def test_bounds__are_those_of_the_file() -> None:
    lax = QualityEntry(min_observed=0.5, max_duplicates=0.5)
    assert all(check.holds for check in checked(lax, orders=source(missing=50, duplicates=500)).values())


def recently_observed(folder: Path, hours: list[int | None], *, until: datetime) -> float:
    """Share observed of a history of hours from AT on, as decisions check it at `until`."""
    writer_into(folder)(f"{AT:%Y-%m-%dT%H:%M}", hours)
    history = read_history(folder, "calls")
    checks = recent_checks(folder, history, ("ingest",), QualityEntry(), until)
    return next(check.value for check in checks if check.bound == "min_observed")


def test_hours_before_the_first_count_of_a_young_history__are_not_missing(tmp_path: Path) -> None:
    # Counted since 19:00 of the first day: 5 hours of it and 3 of 4 after a gap of one.
    observed = recently_observed(tmp_path, [None] * 19 + [7] * 5 + [None] + [7] * 3, until=AT + timedelta(hours=28))
    assert observed == pytest.approx(8 / 9)


def test_a_source_that_is_silent_for_its_first_days__is_missing_all_the_same(tmp_path: Path) -> None:
    # A known source without data: two days missing, one observed.
    assert recently_observed(tmp_path, [None] * 48 + [7] * 24, until=AT + timedelta(days=3)) == pytest.approx(1 / 3)


def test_an_older_history__is_checked_over_the_whole_of_its_last_days(tmp_path: Path) -> None:
    # 14 days before day 15 begin with day 1, whose first 12 hours are missing: 12 of 336.
    hours = [7] * 24 + [None] * 12 + [7] * 324
    assert recently_observed(tmp_path, hours, until=AT + timedelta(days=15)) == pytest.approx(324 / 336)
