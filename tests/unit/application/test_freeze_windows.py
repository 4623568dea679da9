"""Spans in which nothing is deployed: by weekday or date, over midnight, by the clock of a place."""

from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

import pytest
from pydantic import ValidationError

from forescale.files.file_error import FileError
from forescale.files.freeze_window import FreezeWindow
from forescale.files.planning_section import Planning
from forescale.files.topology import read_topology_file
from forescale.files.yaml_fields import yaml_of_text
from forescale.wiring.planning_terms import rules_of

MONDAY = datetime(2026, 3, 2, tzinfo=UTC)


def window(**fields: object) -> FreezeWindow:
    return FreezeWindow.model_validate(fields)


def test_days_of_the_week__are_frozen_from_one_time_to_another() -> None:
    frozen = window(days=["fri"], **{"from": "16:00"}, until="22:00")
    friday = datetime(2026, 3, 6, tzinfo=UTC)
    spans = frozen.spans(MONDAY, MONDAY + timedelta(days=7))
    assert spans == [(friday + timedelta(hours=16), friday + timedelta(hours=22))]


def test_a_span_over_midnight__ends_on_the_next_day_and_counts_where_it_began_before() -> None:
    frozen = window(days=["sun"], **{"from": "22:00"}, until="06:00")
    assert frozen.spans(MONDAY, MONDAY + timedelta(hours=5)) == [
        (MONDAY - timedelta(hours=2), MONDAY + timedelta(hours=6))
    ]


def test_a_whole_day__is_from_midnight_to_midnight() -> None:
    frozen = window(first_date=date(2026, 3, 3), last_date=date(2026, 3, 3))
    day = MONDAY + timedelta(days=1)
    assert frozen.spans(MONDAY, MONDAY + timedelta(days=7)) == [(day, day + timedelta(days=1))]


def test_a_place__moves_the_span_with_its_clock() -> None:
    """Berlin is an hour ahead of UTC until 29 March 2026, and two from then on."""
    frozen = window(days=["sat", "sun", "mon"], **{"from": "09:00"}, until="10:00", timezone="Europe/Berlin")
    spans = frozen.spans(datetime(2026, 3, 28, tzinfo=UTC), datetime(2026, 3, 31, tzinfo=UTC))
    assert [begins.astimezone(UTC).hour for begins, _ in spans] == [8, 7, 7]


def test_an_hour_that_comes_twice__is_frozen_both_times() -> None:
    """On 25 October 2026 Berlin's clock goes from 3:00 back to 2:00: 2:30 is at 0:30 UTC, and at 1:30."""
    frozen = window(days=["sat"], **{"from": "22:00"}, until="02:30", timezone="Europe/Berlin")
    ((begins, ends),) = frozen.spans(datetime(2026, 10, 24, 12, tzinfo=UTC), datetime(2026, 10, 25, 12, tzinfo=UTC))
    assert begins.astimezone(UTC) == datetime(2026, 10, 24, 20, tzinfo=UTC)
    assert ends.astimezone(UTC) == datetime(2026, 10, 25, 1, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("since", "until", "hours"),
    [("01:30", "02:30", (0.5, 1)), ("02:30", "04:00", (1, 2)), ("02:15", "02:45", None), ("02:30", "02:30", (1, 24.5))],
)
def test_a_time_that_is_skipped__is_when_the_clock_goes_forward(
    since: str, until: str, hours: tuple[float, float] | None
) -> None:
    """On 29 March 2026 Berlin's clock goes from 2:00 to 3:00 at 1:00 UTC."""
    sunday = datetime(2026, 3, 29, tzinfo=UTC)
    frozen = window(days=["sun"], **{"from": since}, until=until, timezone="Europe/Berlin")
    spans = frozen.spans(sunday, sunday + timedelta(hours=12))
    wanted = [] if hours is None else [tuple(sunday + timedelta(hours=each) for each in hours)]
    assert spans == wanted


@pytest.mark.parametrize(("text", "at"), [("18:30", time(18, 30)), ("8:00", time(8)), ("08:00", time(8))])
def test_a_clock_time__needs_no_quotes(text: str, at: time) -> None:
    # 18:30 without quotes is 18 · 60 + 30 in YAML 1.1.
    assert window(**yaml_of_text(f"{{from: {text}, until: 20:00}}")).from_ == at


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"from": 1110}, "1110 is no clock time"),
        ({"until": 1440}, "1440 is no clock time"),
        ({"from": "16:00Z"}, "has an offset; give a clock time"),
        ({"timezone": "Mars/Olympus"}, "'Mars/Olympus' is no time zone; give an IANA name"),
        ({"first_date": "2026-03-03"}, "go together"),
        ({"first_date": 0, "last_date": "2026-12-31"}, "is no date or time; write it out"),
        ({"first_date": "2026-03-03", "last_date": "2260-03-03"}, "year 2260 is not between"),
        ({"first_date": "2026-03-03", "last_date": "2026-03-02"}, "is before first_date"),
        ({"days": ["someday"]}, "'sun'"),
    ],
)
def test_a_window_that_cannot_be__is_refused_with_the_remedy(fields: dict[str, object], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        window(**fields)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"min_parallelism": {"work": 9}, "max_parallelism": {"work": 8}}, "at most 8 are allowed"),
        ({"min_parallelism": {"work": 9, "sink": 9}, "max_instances": 16}, "adds up to 18 instances"),
        ({"allow": 0.01, "price_per_violation_minute": 2.0}, "a share or a price"),
    ],
)
def test_limits_that_contradict_each_other__are_refused(fields: dict[str, object], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        Planning.model_validate(fields)


LEAST = """
topology: pair
operators: {{ read: {{ service_s: 0.001 }}, work: {{ service_s: 0.1, max_parallelism: 4 }} }}
streams: [{stream}]
planning: {{ min_parallelism: {{ work: {least} }} }}
"""


@pytest.mark.parametrize(
    ("stream", "least", "told"),
    [
        ("{ from: read, to: work }", 5, "operators.work.max_parallelism .* 4; lower the one or raise the other"),
        ("{ from: read, to: work, grouping: custom, shares: [0.5, 0.5] }", 3, "those of 2 instances; lower the one"),
    ],
)
def test_least_instances_that_an_operator_cannot_have__are_refused(
    stream: str, least: int, told: str, tmp_path: Path
) -> None:
    path = tmp_path / "pair.yaml"
    path.write_text(LEAST.format(stream=stream, least=least))
    with pytest.raises(FileError, match=rf"planning.min_parallelism of work is {least}, and .*{told}"):
        read_topology_file(path)
    path.write_text(LEAST.format(stream=stream, least=2))
    assert read_topology_file(path).planning.min_parallelism == {"work": 2}


def test_rules__close_the_windows_of_the_horizon_in_epoch_seconds() -> None:
    planning = Planning(freeze=[window(days=["mon"], **{"from": "08:00"}, until="09:00")], max_rescales_a_day=3)
    rules = rules_of(planning, MONDAY, MONDAY + timedelta(days=1))
    begins_s = MONDAY.timestamp() + 8 * 3600
    assert rules.closed == [(begins_s, begins_s + 3600)]
    assert rules.most_a_day == 3


def test_a_quantile__is_translated_into_a_tenth_of_what_it_leaves() -> None:
    assert [Planning(quantile=q).allowed_share for q in (0.9, 0.95, 0.99)] == [0.01, 0.005, 0.001]
    assert Planning(quantile=0.9, allow=0.0).allowed_share == 0.0
