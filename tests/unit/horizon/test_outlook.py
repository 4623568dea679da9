"""What a search takes of forecasts: steps from now on, the largest of what it joins, slopes where steps are wide."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from forecasting.forecast import Forecast
from modeling.arrays import Floats
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Operator, Stream, Topology
from planner.errors import PlanError
from planner.horizon.ladder import ladder_of
from planner.horizon.outlook import CAPACITY_ERROR, outlook
from planner.plan_model import PlanModel

START = datetime(2026, 3, 2, tzinfo=UTC)
JOIN = Topology("join", tuple(map(Operator, "abj")), (Stream("a", "j"), Stream("b", "j")))
PROFILES = {
    "a": OperatorProfile("a", 0.001),
    "b": OperatorProfile("b", 0.001),
    "j": OperatorProfile("j", 0.02, stream_service_s={"a->j": 0.01, "b->j": 0.03}),
}


def _forecast(paths: Floats, step_s: int, source: str = "a") -> Forecast:
    """paths: shape (paths, steps)."""
    return Forecast(
        issued_at=START,
        topology="join",
        source=source,
        start=START,
        step_s=step_s,
        quantiles=(0.5,),
        rate_per_s=np.median(paths, axis=0)[:, None],
        peak_per_s={step_s * paths.shape[1]: np.array([float(paths.max())])},
        paths_per_s=paths,
        forecaster={step_s * paths.shape[1]: "by hand"},
        trained_from=START - timedelta(days=7),
        trained_to=START,
        history_digest="",
        seed=0,
    )


def test_steps__are_as_fine_as_the_forecasts_for_a_day_and_joined_to_quarters_of_an_hour_later() -> None:
    """Of 26 h in 5 minutes: 24 h as they are, then the largest of three each."""
    rates = np.arange(312.0)
    ahead = outlook({"a": _forecast(np.tile(rates, (30, 1)), 300)}, ("a",), START.timestamp())
    assert ahead is not None
    assert ahead.edges_s.size == 288 + 8 + 1
    assert ahead.edges_s[[0, 1, 288, 289, -1]].tolist() == [0.0, 300.0, 86400.0, 87300.0, 26 * 3600.0]
    assert ahead.total_per_s[:, 0].tolist() == [*rates[:288], *rates[290::3]]
    assert (ahead.hours, ahead.step_at(86400.0), ahead.step_at(299.0)) == (26.0, 288, 0)


def test_changes__begin_with_any_step_for_four_hours_and_then_each_quarter_of_an_hour_of_the_forecast() -> None:
    """From 200 s after the forecast's start, steps begin 200, 300, 600 … s after it: 49 until 14,600 s. Then come
    the quarters of an hour from 15,300 s, the 17th, to 42,300 s, the last of 12 h.
    """
    forecast = {"a": _forecast(np.ones((30, 144)), 300)}
    ahead = outlook(forecast, ("a",), START.timestamp() + 200.0)
    assert ahead is not None
    begin_s = 200.0 + ahead.edges_s[:-1]
    near = begin_s <= 200.0 + 4 * 3600.0
    assert (ahead.changes[near].all(), near.sum()) == (True, 49)
    assert begin_s[ahead.changes & ~near].tolist() == [900.0 * n for n in range(17, 48)]


@pytest.mark.parametrize("step_s", [128, 135, 216, 270])
def test_steps_that_divide_no_day__are_joined_by_whole_ones(step_s: int) -> None:
    rates = np.tile(np.arange(800.0), (30, 1))
    for over in range(8):
        ahead = outlook({"a": _forecast(rates, step_s)}, ("a",), START.timestamp() + over * step_s)
        assert ahead is not None
        assert np.diff(ahead.edges_s).min() >= step_s
        assert ahead.total_per_s[-1, 0] == 799.0


def test_what_is_over__is_left_out() -> None:
    forecast = {"a": _forecast(np.tile(np.arange(12.0), (30, 1)), 300)}
    ahead = outlook(forecast, ("a",), START.timestamp() + 700.0)
    assert ahead is not None
    # 200 s of the third step are left.
    assert (ahead.start_s, ahead.edges_s[1]) == (START.timestamp() + 700.0, 200.0)
    assert ahead.total_per_s[:, 0].tolist() == list(range(2, 12))
    assert outlook(forecast, ("a",), START.timestamp() + 3600.0) is None


def test_a_step__begins_where_the_lead_time_is_over() -> None:
    forecast = {"a": _forecast(np.tile(np.arange(12.0), (30, 1)), 300)}
    ahead = outlook(forecast, ("a",), START.timestamp(), 400.0)
    assert ahead is not None
    assert ahead.edges_s[:5].tolist() == [0.0, 300.0, 400.0, 600.0, 900.0]
    assert ahead.total_per_s[:4, 0].tolist() == [0.0, 1.0, 1.0, 2.0]


def test_the_peak_of_a_span__is_what_comes_together_on_the_path_of_that_rank() -> None:
    """On path n of ten, n/s come at one source when n/2 come at the other, and later less."""
    rates = np.outer(np.arange(1.0, 11.0), [1.0, 0.5, 0.2])
    forecasts = {"a": _forecast(rates, 300), "b": _forecast(rates / 2, 300, "b")}
    ahead = outlook(forecasts, ("a", "b"), START.timestamp())
    assert ahead is not None
    assert ahead.peak_per_s(0.9).tolist() == [9.0, 4.5]
    assert ahead.peak_per_s(0.5, 1, 3).tolist() == [2.5, 1.25]


def test_forecasts_on_different_grids__are_refused() -> None:
    forecasts = {"a": _forecast(np.ones((2, 12)), 300), "b": _forecast(np.ones((2, 6)), 600, "b")}
    with pytest.raises(PlanError, match="a, b are on different grids"):
        outlook(forecasts, ("a", "b"), START.timestamp())


def test_hourly_rates__go_in_straight_lines_through_the_middles_of_the_hours() -> None:
    """10/s and then 34/s: from the first middle to the second 2/s each 5 minutes, of which the end is the larger."""
    ahead = outlook({"a": _forecast(np.tile([10.0, 34.0], (30, 1)), 3600)}, ("a",), START.timestamp())
    assert ahead is not None
    assert ahead.total_per_s[:, 0].tolist() == pytest.approx([10.0] * 6 + [*np.arange(12.0, 34.1, 2.0)] + [34.0] * 6)


def test_few_paths__are_repeated_so_that_capacities_differ_on_them() -> None:
    ahead = outlook({"a": _forecast(np.ones((1, 12)), 300)}, ("a",), START.timestamp())
    assert ahead is not None
    alone = Topology("alone", (Operator("a"),), ())
    ladder = ladder_of([PhysicalPlan("alone", {"a": 2})], PlanModel(alone, {"a": OperatorProfile("a", 0.1)}))
    capacity = ahead.capacity_per_s(ladder)
    assert capacity.shape == (1, 1, 20)
    # Two instances of .1 s carry 20/s; the logarithm is off by a normal number, of which 20 parts are taken.
    assert np.exp(np.log(capacity).mean()) == pytest.approx(20.0)
    assert np.log(capacity).std() == pytest.approx(CAPACITY_ERROR, rel=0.1)


def test_two_sources__make_a_capacity_of_the_mix_of_each_moment() -> None:
    """All of a: .01 s each, 100/s an instance. Half of each: .02 s, 50/s. All of b: 33.3/s."""
    first, second = np.tile([10.0, 5.0, 0.0], (20, 1)), np.tile([0.0, 5.0, 10.0], (20, 1))
    ahead = outlook({"a": _forecast(first, 300), "b": _forecast(second, 300, "b")}, ("a", "b"), START.timestamp())
    assert ahead is not None
    capacity = ahead.capacity_per_s(
        ladder_of([PhysicalPlan("join", {"a": 1, "b": 1, "j": 1})], PlanModel(JOIN, PROFILES))
    )
    assert np.exp(np.log(capacity[0]).mean(axis=1)) == pytest.approx([100.0, 50.0, 100.0 / 3])


def test_many_paths__are_thinned_out_evenly() -> None:
    """A mixture has the paths of one forecaster after those of another: here 300 of 10/s and 100 of 20/s."""
    rates = np.repeat([10.0, 20.0], [300, 100])[:, None] * np.ones((400, 12))
    ahead = outlook({"a": _forecast(rates, 300)}, ("a",), START.timestamp())
    assert ahead is not None
    assert ahead.total_per_s.shape == (12, 100)
    assert (ahead.total_per_s[0] == 20.0).sum() == 25
