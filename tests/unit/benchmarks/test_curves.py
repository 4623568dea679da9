"""Cost at equal violations, by hand: two budgets of ours, a rival between them, and a rival with budgets of its own."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

FILE = Path(__file__).resolve().parents[3] / "benchmarks" / "replay_job" / "curves.py"


@pytest.fixture(scope="module")
def curves() -> ModuleType:
    spec = importlib.util.spec_from_file_location("curves", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def score(share: float, hours: float) -> dict[str, float]:
    return {"violation_share": share, "instance_hours": hours}


OURS = ["planner", "planner@0.02"]
CASE = {
    "planner": score(0.0, 400.0),
    "planner@0.02": score(0.02, 100.0),
    "cron": score(0.01, 250.0),
    "static": score(0.0, 500.0),
    "hindsight": score(0.001, 100.0),
    "hindsight@0.02": score(0.02, 50.0),
}


def test_a_rival_with_one_point__is_compared_where_it_violates_as_much(curves: ModuleType) -> None:
    # Half way between 400 and 100 in logarithms is 200: .8 of 250. At no violations 400 stand against 500: .8 too.
    table = curves.at_equal_violations([CASE, CASE], OURS, [["cron"], ["static"]])
    assert "| cron | 0.80; 0.80 | 2 of 2 | 0 |" in table
    assert "| static | 0.80; 0.80 | 2 of 2 | 0 |" in table


def test_a_rival_with_budgets__is_compared_along_both_curves(curves: ModuleType) -> None:
    # Ours at share v is 400 / 4^(v / .02), hindsight 100 / 2^((v - .001) / .019) up to .02, then 100 against 50.
    shares = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05)
    product = 1.0
    for v in shares:
        at = min(v, 0.02)
        product *= (400 / 4 ** (at / 0.02)) / (100 / 2 ** ((at - 0.001) / 0.019))
    table = curves.at_equal_violations([CASE], OURS, [["hindsight", "hindsight@0.02"]])
    assert f"| hindsight | {product ** (1 / 6):.2f}; {product ** (1 / 6):.2f} | 1 of 1 | 1 |" in table


def test_a_larger_budget_that_costs_more__counts_as_the_smaller_one(curves: ModuleType) -> None:
    worse = CASE | {"planner@0.02": score(0.02, 480.0)}
    assert curves.hours_at(worse, OURS, 0.02) == pytest.approx(400.0)


def test_a_rival_below_our_smallest_share__is_left_out(curves: ModuleType) -> None:
    table = curves.at_equal_violations([CASE | {"planner": score(0.005, 400.0)}], OURS, [["static"], ["cron"]])
    assert "| static | – | 0 of 1 | 0 |" in table
    assert "1 of 1" in table
