"""A command without a topology is about the only one there is; a shell completes names."""

import shutil
from pathlib import Path

import pytest

from forescale.cli.main import main
from forescale.settings import PROJECT

FILE = PROJECT / "examples" / "topologies" / "call-analytics.yaml"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, place in {"HOME": "home", "TOPOLOGIES": "topologies", "MLRUNS": "mlruns"}.items():
        monkeypatch.setenv(f"FORESCALE_{name}", str(tmp_path / place))
    (tmp_path / "topologies").mkdir()
    return tmp_path / "topologies"


def code(*arguments: str) -> object:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return ended.value.code


def test_no_topology__is_the_only_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(FILE, folder)
    assert code("guard", "--past") == 0
    assert "guard of call-analytics" in capsys.readouterr().out


def test_no_topology__is_refused_where_there_are_two(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(FILE, folder)
    shutil.copy(FILE, folder / "another.yaml")
    for command in (("guard", "--past"), ("plan",), ("forecast",), ("history", "show"), ("deploy", "due")):
        assert code(*command) == 2
        assert "name one of another, call-analytics" in " ".join(capsys.readouterr().err.split())


def test_no_topology__is_refused_where_there_is_none(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert code("plan") == 2
    assert "there is no topology file" in capsys.readouterr().err


def test_empty_name__is_no_name(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An unset variable of a shell must not choose a topology."""
    shutil.copy(FILE, folder)
    assert code("guard", "--past", "") == 1
    assert capsys.readouterr().err.startswith("forescale: ")


@pytest.mark.parametrize(
    "asked",
    [
        {"_FORESCALE_COMPLETE": "complete_bash", "COMP_WORDS": "forescale guard --past ca", "COMP_CWORD": "3"},
        {"_FORESCALE_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": "forescale guard --past ca"},
    ],
)
def test_completion__names_the_topologies_that_begin_so(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], asked: dict[str, str]
) -> None:
    shutil.copy(FILE, folder)
    shutil.copy(FILE, folder / "another.yaml")
    for name, value in asked.items():
        monkeypatch.setenv(name, value)
    assert code() == 0
    words = capsys.readouterr().out
    assert "call-analytics" in words
    assert "another" not in words
