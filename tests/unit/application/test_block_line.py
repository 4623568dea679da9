"""A source as one line of blocks."""

from pathlib import Path

from rich.text import Text
from shop_history import NAME, Count, write_shop

from forescale.cli.history_show import block_line
from forescale.history.binned_windows import binned_history
from forescale.history.span import history_span


def line(home: Path, counts: list[Count], width_h: int = 1) -> Text:
    write_shop(home, {"orders": counts})
    span = history_span(home / "history", NAME, start=None, end=None, days=None, snapshot=None)
    return block_line(binned_history(home / "history", span, (), (), [width_h * 3600]).by_width[0]["orders"])


def styles(text: Text) -> dict[int, str]:
    return {span.start: str(span.style) for span in text.spans}


def test_line__tells_zero_from_missing_and_both_from_little(tmp_path: Path) -> None:
    # Eighths of the peak of 7200 an hour: 1 is in the first, 3600 begins the fifth, 7200 is the last.
    assert line(tmp_path, [0, None, 1, 3600, 7200]).plain == "_·▁▅█ peak 2/s"


def test_line__marks_bins_that_miss_windows_and_those_that_are_doubtful(tmp_path: Path) -> None:
    text = line(tmp_path, [8, 8, 8, None, "~4", "^4", 8, "^8", None, None], width_h=2)
    assert text.plain.startswith("██▅█·")
    assert styles(text) == {1: "red", 2: "yellow", 4: "dim"}


def test_line__of_nothing_known_says_so_and_of_zeros_has_peak_zero(tmp_path: Path) -> None:
    assert line(tmp_path / "a", [None, None]).plain == "·· nothing known"
    assert line(tmp_path / "b", [0, 0]).plain == "__ peak 0/s"
