"""Whatever sources are joined: each keeps its own set of paths, and the same are joined the same way."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from joined_sources import forecast, histories
from numpy.typing import NDArray

from forecasting.joined_paths import joined_forecasts, joined_order

seeds = st.integers(0, 2**32 - 1)
values = st.sampled_from([0.0, 1.0, 1.5, 2.0, 7.0])


def _drawn(data: st.DataObject, least: int, most: int) -> NDArray[np.float64]:
    return np.array(data.draw(st.lists(values, min_size=least, max_size=most)))


@given(data=st.data(), sources=st.integers(2, 4), spans=st.integers(1, 12), seed=seeds)
def test_each_source__keeps_its_paths_in_an_order_that_names_do_not_change(
    data: st.DataObject, sources: int, spans: int, seed: int
) -> None:
    names = [f"s{number}" for number in range(sources)]
    levels = {name: _drawn(data, 1, 15) for name in names}
    errors = {name: _drawn(data, spans, spans) for name in names}
    order = joined_order(levels, errors, seed)
    for name in names:
        assert sorted(order[name]) == list(range(levels[name].size))
    again = joined_order({name: levels[name] for name in reversed(names)}, errors, seed)
    assert all(np.array_equal(order[name], again[name]) for name in names)


@given(seed=st.integers(0, 50), rho=st.sampled_from([-0.9, 0.0, 0.9]))
def test_joined_forecasts__hold_the_same_paths_and_everything_else(seed: int, rho: float) -> None:
    given = {source: forecast(source, seed + number, 40) for number, source in enumerate(("app", "web"))}
    joined = joined_forecasts(given, histories(rho, days=9, seed=seed)).forecasts
    for source, each in given.items():
        other = joined[source]
        assert sorted(map(tuple, other.paths_per_s)) == sorted(map(tuple, each.paths_per_s))
        assert other.rate_per_s is each.rate_per_s
        assert other.peak_per_s is each.peak_per_s
