"""Numbers that no machine, history or clock could follow are refused before anything is read."""

from pathlib import Path

import pytest

from forescale.cli.main import main
from forescale.files.file_error import FileError
from forescale.jobs.replay_gate import read_baseline

HUGE = "1" + 30 * "0"


@pytest.mark.parametrize(
    "given",
    [
        ("replay", "t.yaml", "--trace", "t.csv", "--out", "o.parquet", "--days", HUGE),
        ("replay", "t.yaml", "--trace", "t.csv", "--out", "o.parquet", "--days", "inf"),
        ("replay", "t.yaml", "--trace", "t.csv", "--out", "o.parquet", "--scale", "1e308"),
        ("replay", "t.yaml", "--trace", "t.csv", "--out", "o.parquet", "--workers", HUGE),
        ("plan", "--all", "--workers", HUGE),
        ("forecast", "backtest", "t.csv", "--out", "o.parquet", "--origins", HUGE),
    ],
    ids=lambda given: f"{given[0]} {given[-2]} {given[-1][:5]}",
)
def test_a_number_beyond_all_measure__is_refused_with_its_bound(
    given: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(list(given))
    told = " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert ended.value.code == 2
    assert given[-2] in told
    assert "less than or equal to" in told


def test_an_empty_moment__is_refused_and_not_taken_for_none(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["history", "build", "words", "--start", ""])
    assert ended.value.code
    assert "start" in capsys.readouterr().err


def test_a_gate_nested_without_end__is_no_answer(tmp_path: Path) -> None:
    nested = tmp_path / "nested.json"
    nested.write_text(100_000 * "[")
    with pytest.raises(FileError, match="RecursionError"):
        read_baseline(nested)
