"""The benchmark of the model against Flink: what it asks, how far apart it finds the two, what it prints."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from forescale.local.demo.modeled_job import ModeledJob
from modeling.calibration.operator_sample import OperatorSample
from modeling.evaluate import evaluate
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Operator, Stream, Topology

FOLDER = Path(__file__).resolve().parents[3] / "benchmarks" / "flink_job"


@pytest.fixture(scope="module", autouse=True)
def importable() -> Iterator[None]:
    """The scripts lie outside the packages."""
    sys.path.insert(0, str(FOLDER))
    yield
    sys.path.remove(str(FOLDER))


@pytest.fixture
def cases() -> ModuleType:
    return __import__("cases")


@pytest.fixture
def compared() -> ModuleType:
    return __import__("compared")


@pytest.fixture
def tables() -> ModuleType:
    return __import__("tables")


def row(compared: ModuleType, told: float, seen: float, *, repeats: bool = False, p95_s: float = 0.05) -> object:
    """A run of one plan: so many a second were told and seen, a p95 of 40 ms was told."""
    predicted = compared.Predicted(told, "count", {"count": 0.7}, {"count": (1,)}, 0.02, 0.04)
    measured = compared.Measured({"lines": seen}, "count", {"count": 0.66}, 0.03, p95_s, (0.04, 0.06), 1000)
    plan = PhysicalPlan("words", {"lines": 1, "count": 4})
    return compared.Row(
        "words", plan, 0.6, {"lines": 60.0}, predicted, predicted, measured, "lines", 0.2, repeats, 0.05
    )


@pytest.mark.parametrize("name", ["chain", pytest.param("diamond", marks=pytest.mark.slow), "skew"])
def test_cases__ask_for_eight_plans_or_more_with_bottlenecks_that_can_be_told_apart(
    cases: ModuleType, name: str
) -> None:
    case = cases.CASES[name]()
    assert len(case.unseen) >= 8
    assert case.calibrated_at not in case.unseen
    truth = case.job.true_profiles()
    calibrating = case.load_per_s(case.calibration_per_s)
    assert 0.4 < evaluate(case.topology, truth, case.calibrated_at, calibrating).utilisation < 0.75  # a moderate load
    found = set()
    for plan in case.unseen:
        told = evaluate(case.topology, truth, plan, case.load_per_s(1.0))
        found.add(told.bottleneck)
        busy = sorted(operator.utilisation for operator in told.operators.values())
        assert busy[-2] / busy[-1] < 0.95, plan.brief()  # the next operator has 5 % of room when the first is full
    assert len(found) >= 3


def test_overload__is_far_too_much_of_the_driver_alone(cases: ModuleType) -> None:
    case = cases.CASES["diamond"]()
    # A tenth of a click for each order; orders alone decide how much gets through.
    assert case.load_per_s(100.0) == pytest.approx({"orders": 100.0, "clicks": 10.0})
    assert case.overload_per_s(100.0) == pytest.approx({"orders": 300.0, "clicks": 10.0})


def test_row__tells_errors_positive_where_too_much_was_promised(compared: ModuleType) -> None:
    one = row(compared, told=102.0, seen=100.0)
    assert one.throughput_error == pytest.approx(0.02)
    assert one.p95_error == pytest.approx(-0.2)  # 40 ms told, 50 seen
    assert one.utilisation_points() == ("count", pytest.approx(4.0))
    assert one.bottleneck_right


def test_spread__is_of_runs_of_the_same_plan(compared: ModuleType) -> None:
    rows = [row(compared, 102.0, 100.0), row(compared, 102.0, 97.0, repeats=True)]
    assert compared.spread_between(rows, lambda one: one.throughput_per_s) == pytest.approx([-0.03])


def test_quantile_range__is_narrow_where_the_parts_agree_and_wide_where_they_do_not(compared: ModuleType) -> None:
    alike = np.tile(np.linspace(0.0, 1.0, 101), 10)
    low, high = compared.quantile_range(alike, 0.95)
    assert (low, high) == pytest.approx((0.95, 0.95))
    rising = np.repeat(np.arange(10.0), 100)  # each part is one number: 0, 1 … 9, of deviation 3.03
    low, high = compared.quantile_range(rising, 0.5)
    assert (high - low) / 2 == pytest.approx(2.26 * 3.0277 / 10**0.5, rel=1e-3)


def test_utilisation__is_that_of_the_instances_told_to_be_busiest(compared: ModuleType) -> None:
    measuring = __import__("measuring")
    told = compared.Predicted(1.0, "count", {"count": 0.7}, {"count": (1, 2)}, 0.02, 0.04)
    samples = [OperatorSample("count", index, 10.0, busy_s, 0.0, 1.0, {}) for index, busy_s in enumerate([9, 6, 7])]
    assert measuring.used_by_busiest(samples, told) == pytest.approx({"count": 0.65})


def test_full__counts_what_the_driver_gives_at_the_operator_that_is_full(cases: ModuleType) -> None:
    measuring = __import__("measuring")
    case = cases.CASES["diamond"]()
    plan = case.unseen[3]
    counts = {"orders": (0.1, 700.0), "clicks": (0.0, 100.0), "validate": (5.0, 700.0)}
    counts |= {"price": (8.0, 450.0), "risk": (6.0, 400.0), "settle": (10.0, 1200.0)}
    samples = [OperatorSample(name, 0, 10.0, busy_s, 0.0, taken, {}) for name, (busy_s, taken) in counts.items()]
    found = measuring.full(case, plan, samples)
    assert found.bottleneck == "settle"
    # 120 a second there, 10 of them clicks; an order makes 0.6 + 0.5 items. Its source gave only 70 meanwhile.
    assert found.throughput_per_s == pytest.approx({"orders": 100.0, "clicks": 10.0})


def test_tables__show_each_run_and_leave_repeats_out_of_the_errors(compared: ModuleType, tables: ModuleType) -> None:
    rows = [row(compared, 102.0, 100.0), row(compared, 102.0, 85.0, repeats=True, p95_s=0.055)]
    each = tables.plans_table(rows).splitlines()
    assert each[2].startswith(
        "| 1·4 | 102 | 100 | +2.0 % | count | same | 60% | count +4.0 | 40 | 50 | 50 ±10 | -20.0 % |"
    )
    assert each[3].startswith("| 1·4 again | 102 | 85 | +20.0 % |")
    (summary,) = tables.summary_table(rows).splitlines()[2:]
    assert summary == (
        "| words | 2.0 %, +2.0 % | 2.0 %, +2.0 % | -15.0 % | 1 of 1 | +4.0 points | 20.0 %, -20.0 % | "
        "20.0 %, -20.0 % | 0.0 %, +0.0 % | +10.0 % |"
    )


def test_summary__names_the_worst_error_with_its_sign_and_a_wrong_bottleneck(
    compared: ModuleType, tables: ModuleType
) -> None:
    wrong = row(compared, 90.0, 100.0)
    wrong = replace(wrong, measured=replace(wrong.measured, bottleneck="lines"))
    (summary,) = tables.summary_table([row(compared, 104.0, 100.0), wrong]).splitlines()[2:]
    assert summary.startswith("| words | 7.0 %, -10.0 % |")  # the middle of 4 and 10
    assert "| 1 of 2 |" in summary
    assert "| count | lines |" in tables.plans_table([wrong])


def test_rescales_table__says_how_many_are_within_a_quarter(tables: ModuleType) -> None:
    rescales = __import__("rescales")
    seen = [rescales.Rescale(48.0, 2, 4, 51.2, downtime_s) for downtime_s in (1.0, 1.6)]
    model = rescales.fitted([])  # what was declared: 0.3 s, 10 s for a GiB, of which a twentieth is there
    (line,) = tables.rescales_table(seen, model, [48.0]).splitlines()[2:]
    assert line == "| 51 | fitted | 2 | 0.80 | 1.00, 1.60 | 1.30 | -38.5 % | 1 of 2 |"


def test_results__come_back_from_their_file_and_are_predicted_anew(cases: ModuleType, compared: ModuleType) -> None:
    rescales = __import__("rescales")
    case = cases.CASES["chain"]()
    found = compared.calibration(case, case.job.true_profiles())
    one = replace(
        row(compared, told=1.0, seen=300.0),
        topology="chain",
        plan=case.unseen[1],
        load_per_s=case.load_per_s(180.0),
        driver=case.driver,
    )
    written = compared.RESULTS.dump_json(compared.Results([found], [one], [rescales.Rescale(48.0, 2, 4, 51.2, 1.0)]))
    again = compared.RESULTS.validate_json(written)
    assert again.rows[0].plan == case.unseen[1]
    assert again.rescales[0].restored_gib == 0.05
    (anew,) = again.predicted_anew().rows
    assert anew.measured == one.measured
    # Three instances of 10 ms do 300 a second; calibrated with the truth, both predictions are the same.
    assert anew.told.mst_per_s == pytest.approx(300.0)
    assert anew.told == anew.known


def test_simulation__of_one_queue_is_that_of_theory(cases: ModuleType) -> None:
    simulated = __import__("simulated")
    case = cases.CASES["chain"]()
    # Exponential services of 4.5 ms alone, 100 a second: M/M/1, whose sojourn is exponential of mean 1/(222.2 − 100).
    alone = Topology("alone", (Operator("arrivals"), Operator("parse")), (Stream("arrivals", "parse"),))
    truth = {"arrivals": case.job.truth["arrivals"], "parse": OperatorProfile("parse", 0.0045, service_cv2=1.0)}
    case = replace(case, job=ModeledJob(alone, truth))
    plan = PhysicalPlan("alone", {"arrivals": 1, "parse": 1})
    p95_s = simulated.simulated_p95_s(case, plan, {"arrivals": 100.0})
    assert p95_s == pytest.approx(-np.log(0.05) / (1 / 0.0045 - 100), rel=0.03)


def test_waking__is_what_a_tuple_keeps_an_instance_busy_for_beyond_its_service(
    compared: ModuleType, tables: ModuleType
) -> None:
    found = compared.Calibration("words", {}, {"count": compared.Found(0.01, 1.0, {})})
    rows = [row(compared, 100.0, 100.0), row(compared, 100.0, 100.0)]
    # Busy for 0.66 of the time instead of 0.7, which are 70 tuples of 10 ms: 0.04 / 70 s less for each.
    assert tables.waking_table(rows, [found]).splitlines()[2:] == ["| 65% to 100% | 2 | -0.571 ± 0.000 |"]
