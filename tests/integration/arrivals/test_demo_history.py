"""The demo's calls through Spark: the trace's own counts come back."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from forecasting.arrivals.counting.event_files import EventColumns, EventFiles
from forecasting.arrivals.pipeline import build_history
from forecasting.arrivals.sources.counted_events import CountedEvents
from forecasting.arrivals.store import read_history
from forescale.local.demo.bank_calls import FEED, TOPOLOGY, bank_calls
from forescale.local.demo.demo_data import write_demo_data

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_history_of_the_calls__gives_the_traces_counts_back_and_agrees_with_the_truth(
    tmp_path: Path, spark: "SparkSession"
) -> None:
    data = write_demo_data(tmp_path, weeks=2)
    columns = EventColumns(time="called_at", source="feed", key="topic", id="call_id")
    source = EventFiles(tmp_path / "demo" / "events", columns, coverage=tmp_path / "demo" / "coverage.parquet")
    calls = CountedEvents(spark, source, data.now)
    summary = build_history(
        calls, topology=TOPOLOGY, window_s=60, start=None, end=data.now, out_dir=tmp_path / "history"
    )
    assert summary.quality.total.kept == data.calls
    assert summary.quality.total.rows_read == data.rows
    assert summary.quality.total.rows_read - summary.quality.total.kept == summary.quality.total.duplicates

    history = read_history(tmp_path / "history", TOPOLOGY)
    assert history.digest() == read_history(data.truth, TOPOLOGY, end=data.now).digest()

    trace, series = bank_calls(), history.series[FEED].resampled(300)
    starts = np.datetime64("1970-01-01", "us") + trace.starts_us.astype("m8[us]")
    told = (starts >= np.datetime64("2003-10-10")) & (starts < np.datetime64("2003-10-24"))
    at = ((starts[told] - series.window_starts()[0]) // np.timedelta64(300, "s")).astype(int)
    assert series.counts[at].tolist() == trace.calls[told].tolist()
    # Ten weekdays of 14 h 5 min less the one that the trace leaves out; all the rest is closed: zero.
    assert told.sum() == 9 * 169
    absent = datetime(2003, 10, 14, 7, tzinfo=UTC)
    assert np.isnan(series.between(absent, absent + timedelta(hours=14, minutes=5)).counts).all()
    assert np.nansum(series.counts) == trace.calls[told].sum()
