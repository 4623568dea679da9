"""The demo's files."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from forecasting.arrivals.coverage import read_coverage
from forecasting.arrivals.grid import to_us
from forecasting.arrivals.store import read_history
from forecasting.errors import HistoryError
from forescale.local.demo.bank_calls import FEED, TOPOLOGY
from forescale.local.demo.demo_data import DEFAULT_NOW, deliver, write_demo_data

pytestmark = pytest.mark.slow


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_writing_twice__leaves_the_same_bytes(tmp_path: Path) -> None:
    write_demo_data(tmp_path, weeks=1)
    once = files(tmp_path)
    write_demo_data(tmp_path, weeks=1)
    assert files(tmp_path) == once


def test_events__stop_at_now_and_the_truth_goes_on(tmp_path: Path) -> None:
    noon = datetime(2003, 10, 23, 12, tzinfo=UTC)
    data = write_demo_data(tmp_path, weeks=1, now=noon)
    events = tmp_path / "demo" / "events"
    dates = sorted(path.name for path in events.iterdir())
    # The weekdays from Friday a week before the last day on.
    assert dates == [f"date=2003-10-{day}" for day in (17, 20, 21, 22, 23)]
    latest = max(pq.ParquetFile(path).read()["called_at"].to_numpy().max() for path in events.rglob("*.parquet"))
    assert latest < np.datetime64("2003-10-23T12:00")
    truth = read_history(data.truth, TOPOLOGY).series[FEED]
    assert (truth.start, truth.end) == (data.start, datetime(2003, 10, 25, tzinfo=UTC))
    assert truth.between(data.start, noon).counts.sum() == data.calls


def test_a_feed__delivers_what_has_come_by_now_and_nothing_that_lies_ahead(tmp_path: Path) -> None:
    """In the live demo nearly half of the rows were stamped in the future, and the history was alarmed about."""
    noon, later = datetime(2003, 10, 22, 12, tzinfo=UTC), datetime(2003, 10, 23, 9, tzinfo=UTC)
    write_demo_data(tmp_path / "fed", weeks=1, now=noon)
    deliver(tmp_path / "fed", now=later, weeks=1, shift=timedelta(0))
    write_demo_data(tmp_path / "once", weeks=1, now=later)
    fed, once = files(tmp_path / "fed" / "demo"), files(tmp_path / "once" / "demo")
    assert {name: fed[name] for name in fed if name.startswith(("events", "coverage"))} == {
        name: once[name] for name in once if name.startswith(("events", "coverage"))
    }


def test_truth__counts_each_call_once_and_nights_and_weekends_as_zero(tmp_path: Path) -> None:
    truth = read_history(write_demo_data(tmp_path, weeks=1).truth, TOPOLOGY).series[FEED]
    assert truth.window_s == 60
    assert not np.isnan(truth.counts).any()
    saturday = truth.between(datetime(2003, 10, 18, tzinfo=UTC), datetime(2003, 10, 19, tzinfo=UTC))
    assert saturday.counts.sum() == 0
    # The trace's last bin: 54 calls from 21:00 to 21:05 of the last Friday.
    assert truth.resampled(300).between(datetime(2003, 10, 24, 21, tzinfo=UTC), truth.end).counts[0] == 54


def test_coverage__ends_at_now_and_leaves_out_what_the_trace_does_not_tell(tmp_path: Path) -> None:
    data = write_demo_data(tmp_path, weeks=2)
    spans = read_coverage(tmp_path / "demo" / "coverage.parquet", "UTC")[FEED]
    absent = datetime(2003, 10, 14, 7, tzinfo=UTC), datetime(2003, 10, 14, 21, 5, tzinfo=UTC)
    expected = [data.start, absent[0], absent[1], DEFAULT_NOW]
    assert spans.ravel().tolist() == [to_us(moment) for moment in expected]
    assert np.isnan(read_history(data.truth, TOPOLOGY).series[FEED].between(*absent).counts).all()


def test_coverage__of_a_now_before_an_absent_day__has_no_span_after_it(tmp_path: Path) -> None:
    data = write_demo_data(tmp_path, weeks=2, now=datetime(2003, 10, 14, 12, tzinfo=UTC))
    spans = read_coverage(tmp_path / "demo" / "coverage.parquet", "UTC")[FEED]
    assert spans.ravel().tolist() == [to_us(data.start), to_us(datetime(2003, 10, 14, 7, tzinfo=UTC))]


def test_shift__moves_everything(tmp_path: Path) -> None:
    shift = timedelta(weeks=1200)
    data = write_demo_data(tmp_path, weeks=1, now=DEFAULT_NOW + shift, shift=shift)
    truth = read_history(data.truth, TOPOLOGY).series[FEED]
    assert truth.start == datetime(2003, 10, 17, tzinfo=UTC) + shift
    assert f"date={(DEFAULT_NOW + shift).date()}" in {path.name for path in (tmp_path / "demo" / "events").iterdir()}


def test_now_outside_the_span__is_refused_and_nothing_is_touched(tmp_path: Path) -> None:
    write_demo_data(tmp_path, weeks=1)
    once = files(tmp_path)
    with pytest.raises(HistoryError, match=r"now 2026-01-01 .* lies outside the demo"):
        write_demo_data(tmp_path, weeks=1, now=datetime(2026, 1, 1, tzinfo=UTC))
    assert files(tmp_path) == once


def test_remains_of_a_run_that_was_killed__are_cleared(tmp_path: Path) -> None:
    for remains in ("demo.new/events", "demo.old"):
        (tmp_path / remains).mkdir(parents=True)
    write_demo_data(tmp_path, weeks=1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["demo", "demo.lock"]
