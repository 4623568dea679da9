"""Coverage of maxima within the hour and of what a plan would leave waiting, by hand."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

BENCHMARKS = Path(__file__).resolve().parents[3] / "benchmarks"


@pytest.fixture(scope="module")
def script() -> Iterator[ModuleType]:
    """The scripts lie outside the packages; one that is imported takes its own folder off the path."""
    before = list(sys.path)
    sys.path.insert(0, str(BENCHMARKS))
    yield importlib.import_module("within_the_hour")
    sys.path[:] = before


@pytest.mark.parametrize(("came", "share"), [(0.0, 1.0), (1.0, 0.6), (2.0, 0.0), (0.5, 1.0)])
def test_equal_values__count_by_the_share_that_a_quantile_of_them_covers(
    script: ModuleType, came: float, share: float
) -> None:
    # Three of four draws are 0 and one is 1: a p90 covers all zeros, and (.9 - .75) / .25 of the ones.
    assert script.covered(np.array([0.0, 0.0, 0.0, 1.0]), came, 0.9) == pytest.approx(share)


def test_maxima_and_sums__are_those_of_the_hour_at_each_lead(script: ModuleType) -> None:
    # Twenty paths of 24 h in steps of half an hour, path n at n/s; two steps of an hour are alike.
    paths = np.repeat(np.arange(20.0)[:, None], 48, axis=1)
    came = np.full(48, 9.0)
    came[24:26] = 19.5, 0.0  # 12 h ahead the first half hour is above all paths, but so few tuples come in the hour
    told = dict(script.of_origin(paths, came, 1800))
    assert told["maximum of 60 min", 1] == 1
    assert told["maximum of 60 min", 12] == 0
    # The median of all rates is 9.5/s: (19.5 - 9.5) = 10 wait, where path 15 leaves 2 * 5.5 = 11.
    assert told["above the p50", 12] == 1
    assert {name for name, _ in told} == {"maximum of 60 min", "above the p50", "above the p90"}


def test_an_hour_of_which_a_window_is_missing__is_left_out(script: ModuleType) -> None:
    came = np.full(48, 9.0)
    came[13] = np.nan
    told = dict(script.of_origin(np.ones((4, 48)), came, 1800))
    assert {lead_h for _, lead_h in told} == {1, 12, 23}


def test_each_lead__is_told_over_all_traces_with_the_least_and_the_most_of_one(script: ModuleType) -> None:
    table = script.table({"one": {("maximum of 60 min", 1): [1.0, 1.0, 1.0]}, "two": {("maximum of 60 min", 1): [0.0]}})
    assert "| maximum of 60 min | 0.750 (0.00 to 1.00) |  |  |  |" in table
