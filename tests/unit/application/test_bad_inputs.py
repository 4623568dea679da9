"""Bad inputs of every kind at every command: refused in one line, in time, with nothing half-written behind."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from bad_inputs import Bench, Case, bench, given_cases, setting_cases, terminal_cases
from damaged_stores import stored_cases
from forked_commands import DEFECT, KILLED, TOO_LARGE, Ending, ForkedCommands

SAMPLED, SAMPLED_SLOWLY = 12, 60
"""Of the kinds at every option, the same each time. `benchmarks/bad_inputs.py` tries all of them."""

FINDING = ("doctor", "config check")
"""Commands whose answer is what is wrong."""

GIVEN = list(given_cases())


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return bench(tmp_path_factory.mktemp("bench"))


@pytest.fixture(scope="module")
def commands() -> Iterator[ForkedCommands]:
    with ForkedCommands() as forked:
        yield forked


@pytest.fixture(scope="module")
def check(installed: Bench, commands: ForkedCommands, tmp_path_factory: pytest.TempPathFactory) -> "Check":
    return Check(installed, commands, tmp_path_factory)


class Check:
    """Runs a case in a folder of its own and holds its ending to what is promised of bad input."""

    def __init__(self, installed: Bench, commands: ForkedCommands, folders: pytest.TempPathFactory) -> None:
        self._installed, self._commands, self._folders = installed, commands, folders

    def __call__(self, case: Case) -> None:
        folder = self._folders.mktemp("case")
        ending = case.run(self._installed, self._commands, folder)
        assert ending.code not in (DEFECT, KILLED, TOO_LARGE), f"{case}: {_told(ending)}"
        assert "Traceback" not in ending.err, f"{case}: {_told(ending)}"
        assert ending.code in (1, 2) or (case.may_be_taken and ending.code == 0), f"{case}: {_told(ending)}"
        if ending.code == 1 and not case.may_be_taken:
            told = "forescale: " in ending.err or (case.place.startswith(FINDING) and ending.out)
            assert told, f"{case}: {_told(ending)}"
        left = [path for path in folder.rglob("*") if path.name.endswith((".part", ".new"))]
        assert left == [], f"{case} left {left}"


def _told(ending: Ending) -> str:
    return f"ended with {ending.code} after {ending.seconds:.1f} s: {ending.err[-1000:]}"


@pytest.mark.parametrize("case", random.Random(7).sample(GIVEN, SAMPLED), ids=str)
def test_a_bad_input__is_refused_in_time_and_in_one_line(case: Case, check: Check) -> None:
    check(case)


@pytest.mark.slow
def test_bad_inputs_of_every_kind__are_refused(check: Check) -> None:
    for case in random.Random(16).sample(GIVEN, SAMPLED_SLOWLY):
        check(case)


@pytest.mark.slow
def test_bad_settings__are_refused_or_do_no_harm(check: Check) -> None:
    for case in random.Random(16).sample(list(setting_cases()), 40):
        check(case)


@pytest.mark.slow
def test_terminals_of_few_characters__are_written_to(check: Check) -> None:
    for case in terminal_cases():
        check(case)


@pytest.mark.slow
def test_what_is_stored_and_damaged__is_named(installed: Bench, check: Check) -> None:
    for case in random.Random(16).sample(list(stored_cases(installed)), SAMPLED_SLOWLY):
        check(case)


def test_every_kind_and_every_option__is_among_the_inputs() -> None:
    places = {case.place for case in GIVEN}
    assert {
        "model evaluate --plan",
        "forecast backtest trace",
        "replay --gate",
        "history show --plot",
        "config check topologies",
    } <= places
    assert {"a pipe", "8 GiB", "/dev/full", "a YAML bomb by merge keys", "lone surrogates"} <= {
        case.kind for case in GIVEN
    }


def test_a_command_that_fails__is_told_from_one_that_refuses(
    installed: Bench, commands: ForkedCommands, tmp_path: Path
) -> None:
    # A good one of each ending, so that the driver itself is known to see them.
    good = Case("good", "deploy list", lambda bench, folder: ["plan", "list", "pair"], may_be_taken=True)
    assert good.run(installed, commands, tmp_path).code == 0
    bad = Case("unknown", "deploy list", lambda bench, folder: ["plan", "list", "none"])
    assert bad.run(installed, commands, tmp_path).code == 1
