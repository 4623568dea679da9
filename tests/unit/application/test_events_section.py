"""The section `events`: what it makes of a file, and what it answers to a mistake."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

import forecasting.events.public_holidays
import forescale.files.events_section
from forecasting.errors import CalendarError
from forecasting.events.calendar import EventCalendar, EventKind
from forescale.files.events import read_events_file
from forescale.files.events_section import event_calendar
from forescale.files.file_error import FileError
from forescale.files.topology import read_topology_file

ROOT = Path(__file__).resolve().parents[3]
START, END = datetime(2025, 12, 1, tzinfo=UTC), datetime(2026, 12, 1, tzinfo=UTC)
HOLIDAYS = {"country": "DE", "subdivision": "BY", "time_zone": "Europe/Berlin"}
EVENT = {"label": "Sale", "kind": "launch", "date": "2026-11-27", "time_zone": "Europe/Berlin"}


def written(folder: Path, text: str) -> Path:
    path = folder / "events.yaml"
    path.write_text(text)
    return path


def calendar(folder: Path, *entries: dict[str, Any]) -> EventCalendar:
    return event_calendar(read_events_file(written(folder, yaml.safe_dump({"events": list(entries)}))), START, END)


def refused(folder: Path, *entries: dict[str, Any]) -> str:
    with pytest.raises(FileError) as error:
        calendar(folder, *entries)
    return str(error.value)


def test_the_documented_section__is_read_and_names_every_field(tmp_path: Path) -> None:
    told = (ROOT / "docs" / "topology-file.md").read_text()
    example = next(block for block in told.split("```yaml\n")[1:] if block.startswith("events:")).split("```")[0]
    entries = read_events_file(written(tmp_path, example))
    kinds = {event.kind for event in event_calendar(entries, START, END + timedelta(days=60)).events}
    assert {EventKind.HOLIDAY, EventKind.LAUNCH, EventKind.OUTAGE} <= kinds
    section = forescale.files.events_section
    fields = {
        *section.EventEntry.model_fields,
        *section.HolidaysEntry.model_fields,
        *section.HolidaysPlace.model_fields,
    }
    assert [name for name in fields if f"`{name}`" not in told] == []


def test_holidays__are_those_of_the_years_that_are_asked_for(tmp_path: Path) -> None:
    told = calendar(tmp_path, {"holidays": HOLIDAYS}).events
    assert [event.label for event in told].count("Epiphany") == 1
    assert [event.label for event in told].count("Christmas Day") == 1
    assert told[0].start == datetime(2025, 12, 24, 23, tzinfo=UTC)


def test_a_date__is_a_whole_day_of_its_time_zone(tmp_path: Path) -> None:
    (event,) = calendar(tmp_path, EVENT | {"ratio": 3, "sources": ["web"]}).events
    assert (event.start, event.end) == (
        datetime(2026, 11, 26, 23, tzinfo=UTC),
        datetime(2026, 11, 27, 23, tzinfo=UTC),
    )
    assert (event.ratio, event.sources, event.kind) == (3.0, ("web",), EventKind.LAUNCH)


@pytest.mark.parametrize(
    "text",
    [
        "{start: 2026-03-29 01:30, end: 2026-03-29 03:30, time_zone: Europe/Berlin}",
        "{start: 2026-03-29 01:30:00+01:00, end: 2026-03-29T03:30:00+02:00}",
        "{start: 2026-03-29T00:30:00Z, end: 2026-03-29 03:30, time_zone: Europe/Berlin}",
        "{start: 2026-03-29 00:30:00Z, end: 2026-03-29 03:30:00, time_zone: Europe/Berlin}",
    ],
)
def test_times__are_those_of_the_time_zone_or_bear_their_own_offset(tmp_path: Path, text: str) -> None:
    # An hour in spite of its look: clocks were put forward within it.
    body = "events:\n  - " + text.replace("{", "{label: Sale, kind: launch, ")
    (event,) = event_calendar(read_events_file(written(tmp_path, body)), START, END).events
    assert (event.start, event.end) == (
        datetime(2026, 3, 29, 0, 30, tzinfo=UTC),
        datetime(2026, 3, 29, 1, 30, tzinfo=UTC),
    )


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"kind": "party"}, "events.0.kind: Input should be 'holiday', 'launch', 'match', 'maintenance', 'outage' or"),
        ({"ratio": -1}, "events.0.ratio: Input should be greater than or equal to 0 (given: -1)"),
        ({"ratio": 100}, "less than or equal to 20 (given: 100)"),
        ({"ratio": float("nan")}, "events.0.ratio"),
        ({"time_zone": "Bavaria/Munich"}, "time zone 'Bavaria/Munich' is not known; give an IANA name"),
        ({"time_zone": None}, "has no time_zone; say whose day it is"),
        ({"date": None}, "has neither a date nor a start and an end; add start, or give a date"),
        ({"start": "2026-11-27 18:00"}, "has a date and a start or an end; give either"),
        ({"date": 20261127}, "is no date or time; write it out, such as 2026-11-27"),
        ({"date": True}, "(given: 'true')"),
        ({"date": "next Friday"}, "events.0.date"),
        ({"date": "0001-01-01"}, "year 1 is not between 1970 and 2200"),
        ({"date": "9999-12-31"}, "year 9999 is not between"),
        ({"label": ""}, "events.0.label"),
        ({"label": "x" * 200}, "events.0.label"),
        ({"sources": []}, "events.0.sources"),
        ({"rato": 3}, "events.0.rato is not a known field; remove it or correct its name"),
        ({"kind": "outage", "ratio": 0}, "an outage has no ratio"),
    ],
)
def test_a_mistake__is_answered_with_the_file_the_field_and_a_remedy(
    tmp_path: Path, change: dict[str, Any], told: str
) -> None:
    said = refused(tmp_path, EVENT | change)
    assert "events.yaml: events.0" in said
    assert told in said


@pytest.mark.parametrize(
    ("start", "end", "told"),
    [
        ("2026-11-27 18:00", "2026-11-27 17:00", "not after its start"),
        ("2026-03-29 02:30", "2026-03-29 04:00", "was skipped by the clocks of Europe/Berlin"),
        (datetime(2026, 11, 27).date(), "2026-11-27 17:00", "has no time; write such as 2026-11-27 18:00"),
    ],
)
def test_a_span_that_cannot_be__is_refused(tmp_path: Path, start: object, end: object, told: str) -> None:
    entry = {key: value for key, value in EVENT.items() if key != "date"} | {"start": start, "end": end}
    assert told in refused(tmp_path, entry)


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ({"country": "ZZ"}, "country 'ZZ' is not known"),
        ({"subdivision": "Bavaria"}, "no subdivision 'Bavaria'; known are: BB"),
        ({"time_zone": "Berlin"}, "time zone 'Berlin' is not known"),
        ({"language": "de"}, "events.0.holidays.language is not a known field"),
    ],
)
def test_an_unknown_place__is_refused(tmp_path: Path, place: dict[str, Any], told: str) -> None:
    assert told in refused(tmp_path, {"holidays": HOLIDAYS | place})


def test_holidays_without_a_time_zone__are_refused(tmp_path: Path) -> None:
    assert "events.0.holidays.time_zone is missing; add it" in refused(tmp_path, {"holidays": {"country": "DE"}})


@pytest.mark.parametrize("text", ["", "[]", "events: 3", "events: [3]", "events: [{holidays: DE}]", "evnts: []"])
def test_what_is_no_section__is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(FileError, match=r"events\.yaml"):
        read_events_file(written(tmp_path, text))


def test_a_date_that_no_calendar_has__is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"events\.yaml: line 1: .2026-02-30. is no timestamp"):
        read_events_file(written(tmp_path, "events: [{label: a, kind: other, date: 2026-02-30, time_zone: UTC}]"))


def test_a_missing_file__is_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"events file .*none\.yaml does not exist"):
        read_events_file(tmp_path / "none.yaml")


def test_a_file_with_holidays__is_read_where_their_library_is_lacking_and_refused_where_they_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forecasting.events.public_holidays.importlib.util, "find_spec", lambda name: None)
    entries = read_events_file(written(tmp_path, yaml.safe_dump({"events": [{"holidays": HOLIDAYS}]})))
    with pytest.raises(CalendarError, match=r"install forescale\[forecast\]"):
        event_calendar(entries, START, END)


def test_a_topology_file__holds_the_section_and_only_names_sources_of_its_own(tmp_path: Path) -> None:
    body = yaml.safe_load((ROOT / "examples" / "topologies" / "call-analytics.yaml").read_text())
    path = tmp_path / "topology.yaml"
    path.write_text(yaml.safe_dump(body | {"events": [{"holidays": HOLIDAYS}, EVENT]}))
    assert len(read_topology_file(path).events) == 2
    path.write_text(yaml.safe_dump(body | {"events": [EVENT | {"sources": ["nowhere"]}]}))
    with pytest.raises(FileError, match=r"events\.0 names 'nowhere', which is no source of the topology"):
        read_topology_file(path)
