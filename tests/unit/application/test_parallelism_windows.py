"""`planning.windows`: at least or at most so many instances on certain days, in local time."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from forescale.files.file_error import FileError
from forescale.files.topology import TopologyConfig, read_topology_file
from forescale.wiring.planning_terms import bounded_spans, guard_terms_of

FILE = """
topology: calls
operators:
  read: {service_s: 0.001}
  count: {service_s: 0.1, max_parallelism: 64}
streams: [{from: read, to: count}]
planning:
  max_instances: 40
  min_parallelism: {read: 2}
  windows:
    - WINDOW
"""
FRIDAY = "{days: [fri], from: 18:00, until: 23:00, timezone: Europe/Berlin, min_parallelism: {count: 12}}"
NOON = datetime(2026, 10, 23, 12, tzinfo=UTC)
"""Of a Friday. On Sunday clocks in Berlin go back by an hour."""


def read(folder: Path, window: str) -> TopologyConfig:
    (folder / "calls.yaml").write_text(FILE.replace("WINDOW", window))
    return read_topology_file(folder / "calls.yaml")


def test_every_friday__goes_by_the_clock_of_the_place(tmp_path: Path) -> None:
    planning = read(tmp_path, FRIDAY).planning
    before, after = bounded_spans(planning, NOON, NOON + timedelta(days=8))
    assert [datetime.fromtimestamp(at_s, UTC).hour for at_s in (before.start_s, before.end_s)] == [16, 21]
    # A week later Berlin has winter time.
    assert [datetime.fromtimestamp(at_s, UTC).hour for at_s in (after.start_s, after.end_s)] == [17, 22]
    assert (before.least, before.most) == ({"count": 12}, {})


@pytest.mark.parametrize(
    ("window", "said"),
    [
        ("{days: [fri]}", "planning.windows.0: neither min_parallelism nor max_parallelism is given; give one of them"),
        ("{min_parallelism: {count: 5}, max_parallelism: {count: 4}}", "min_parallelism of count is 5, and max_par"),
        ("{min_parallelism: {cuont: 5}}", "planning.windows.0 names the unknown operator 'cuont'; known are read, cou"),
        (
            "{min_parallelism: {count: 39}}",
            "windows.0.min_parallelism adds up to 41 instances, more than max_instances",
        ),
        ("{min_parallelism: {count: 41}}", "windows.0.min_parallelism of count is 41, and at most 40 are allowed"),
        ("{max_parallelism: {read: 1}}", "windows.0.max_parallelism of read is 1, and min_parallelism 2; raise it"),
        ("{min_parallelism: {count: 0}}", "planning.windows.0.min_parallelism.count: Input should be greater than"),
        ("{min_parallelism: {count: 5}, timezone: Mars}", "'Mars' is no time zone"),
    ],
)
def test_what_cannot_be_kept__is_an_error_with_place_value_and_remedy(tmp_path: Path, window: str, said: str) -> None:
    with pytest.raises(FileError) as error:
        read(tmp_path, window)
    assert said in str(error.value)


def test_more_than_leaves_room_for_the_other_operators__is_an_error(tmp_path: Path) -> None:
    text = FILE.replace("  min_parallelism: {read: 2}\n", "")
    for count, fits in ((39, True), (40, False)):
        (tmp_path / "calls.yaml").write_text(text.replace("WINDOW", f"{{min_parallelism: {{count: {count}}}}}"))
        if fits:
            read_topology_file(tmp_path / "calls.yaml")
            continue
        with pytest.raises(FileError, match=r"windows.0.min_parallelism, with at least one .* adds up to 41 instances"):
            read_topology_file(tmp_path / "calls.yaml")


def test_more_than_an_operator_can_have__is_an_error(tmp_path: Path) -> None:
    text = FILE.replace("WINDOW", "{min_parallelism: {count: 70}}").replace("max_instances: 40", "max_instances: 90")
    (tmp_path / "calls.yaml").write_text(text)
    with pytest.raises(
        FileError, match=r"planning.windows.0.min_parallelism of count is 70, and operators.count.max_p"
    ):
        read_topology_file(tmp_path / "calls.yaml")


def test_the_guard__goes_by_the_window_it_looks_in(tmp_path: Path) -> None:
    capped = "{days: [fri], from: 18:00, until: 23:00, timezone: Europe/Berlin, max_parallelism: {count: 12}}"
    for window, least, most in ((FRIDAY, 12, None), (capped, 1, 12)):
        config = read(tmp_path, window)
        within = guard_terms_of(config, 30.0, None, at=NOON + timedelta(hours=5))
        assert (within.least.get("count", 1), within.limits.max_parallelism.get("count")) == (least, most)
        outside = guard_terms_of(config, 30.0, None, at=NOON)
        assert (outside.least, outside.limits.max_parallelism) == ({"read": 2}, {})
