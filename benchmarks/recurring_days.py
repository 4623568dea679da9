"""What it is worth to know how the days of the calendar were in earlier months and years.

    python benchmarks/recurring_days.py [--traces DIR] [--names a,b,c] [--winters 2] [--country US]

Forecasts of the coming day, at midnights, each from the eight weeks before it, as `forescale forecast` trains them.
Three ways: without events (*none*); with the holidays of a country, learnt from these weeks (*holidays*); with what
forecasting.events.recurring_days finds in the whole history before, too (*past days*).

Without --traces: a made-up source of 14 months (hours; a wave of the day and the week, noise of hours and days) with
three times the usual load on the first and on the last working day of each month, and the same without. The midnights
before its last eight such days, and before eight others.

--traces: on each trace of hours, by how many looks, nine days apart, which days stand out; then the midnights of 20
December to 2 January of its last winters. Prints per way the p95 loss of the day's peak over the mean peak / share of
peaks below the p95 / geometric mean of p95 over peak.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import numpy as np

# A script's own folder comes first, and one in it is named like the package that is measured.
sys.path.pop(0)
sys.path.insert(0, str(Path(__file__).with_name("forecasts")))
from trace_folder import traces

from forecasting.arrivals.history import ArrivalSeries
from forecasting.events.calendar import EventCalendar
from forecasting.events.public_holidays import public_holidays
from forecasting.events.recurring_days import with_past_days
from forecasting.forecast import QUANTILES
from forecasting.forecasters import all_forecasters
from forecasting.local_time import local_days, zone
from forecasting.models.time_grid import DAY_S
from forecasting.peaks import actual_peak_per_s, pinball
from forecasting.pipeline import issue, train
from forecasting.terms import ForecastTerms

LEVEL = 0.95
COLUMN = QUANTILES.index(LEVEL)
LEARNT, LOOKS_APART = timedelta(days=56), timedelta(days=9)
ZONES = {"metro_i94_hourly": "America/Chicago", "uci_bikeshare_hourly": "America/New_York"}
"""Of traces whose times were converted to UTC; the others have local times."""
NO_EVENTS = EventCalendar()
Way = Callable[[ArrivalSeries, datetime, datetime], EventCalendar]
"""The calendar, from the history known, the start of what is learnt from, and the end of the forecast."""


def is_billed(day: date) -> bool:
    """The first and the last working day of a month."""
    rest = (day + timedelta(days=number) for number in range(1, 32))
    later = any(other.month == day.month and other.weekday() < 5 for other in rest if other > day)
    return day.day == 1 or (day.weekday() < 5 and not later)


def made_up(factor: float, days: int = 427) -> ArrivalSeries:
    start, rng = datetime(2024, 9, 1, tzinfo=UTC), np.random.default_rng(1)
    dates = [(start + timedelta(days=number)).date() for number in range(days)]
    level = np.array([(0.6 if day.weekday() > 4 else 1.0) * (factor if is_billed(day) else 1.0) for day in dates])
    level *= np.exp(0.05 * rng.standard_normal(days))
    noise = np.zeros(24 * days)
    for at, step in enumerate(0.05 * rng.standard_normal(24 * days)):
        noise[at] = 0.92 * noise[at - 1] + step
    wave = np.exp(0.8 * np.cos((np.arange(24) - 14) / 12 * np.pi))
    counts = rng.poisson(2000 * np.outer(level, wave).reshape(-1) * np.exp(noise)).astype(float)
    return ArrivalSeries("bank", "bookings", start, 3600, counts)


def scored(series: ArrivalSeries, days: Sequence[date], ways: dict[str, Way]) -> str:
    """Loss, coverage and height of each way over these days, as a row of a table."""
    cells = []
    for way in ways.values():
        rows = []
        for day in days:
            at, end = local_days(day, day, zone(series.timezone))
            start = max(series.start, at - LEARNT)
            came = series.between(at, end).rate_per_s()
            if np.isfinite(came).mean() < 0.9:
                continue
            learnt, known = series.between(start, at), series.between(series.start, at)
            forecasters = all_forecasters(way(known, start, end), prophet=False)
            trained = train(learnt, issued_at=at, terms=ForecastTerms(3600, DAY_S), forecasters=forecasters)
            said = float(issue(trained, learnt, issued_at=at).peak_per_s[DAY_S][COLUMN])
            rows.append((actual_peak_per_s(came), said))
        came, said = np.array(rows).T
        loss = pinball(came, said, np.array(LEVEL)).mean() / came.mean()
        cells.append(f"{loss:.4f} / {(came <= said).mean():.2f} / {np.exp(np.log(said / came).mean()):.2f}")
    return " | ".join(cells)


def looks(series: ArrivalSeries) -> str:
    """How often which days stood out, by what was known then."""
    found: Counter[str] = Counter()
    at, count = series.start + LEARNT, 0
    while at < series.end:
        past = with_past_days(NO_EVENTS, series.between(series.start, at), series.start, at)
        found.update({event.label for event in past.added})
        at, count = at + LOOKS_APART, count + 1
    told = ", ".join(f"{label} {times}" for label, times in found.items()) or "nothing"
    return f"{count} looks: {told}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", type=Path, help="folder of CSV files")
    parser.add_argument("--names", default="", help="only these traces, comma-separated, without .csv")
    parser.add_argument("--winters", type=int, default=2, help="0 for the looks alone")
    parser.add_argument("--country", default="US")
    given = parser.parse_args()
    ways: dict[str, Way] = {
        "none": lambda known, start, end: NO_EVENTS,
        "past days": lambda known, start, end: with_past_days(NO_EVENTS, known, start, end).calendar,
    }
    if given.traces is None:
        print(f"| | {' | '.join(ways)} |\n{'|---' * (len(ways) + 1)}|")
        for name, factor in (("first and last working day × 3", 3.0), ("none of it", 1.0)):
            series = made_up(factor)
            every = [(series.start + timedelta(days=number)).date() for number in range(200, 426)]
            print(f"| {name}: these days | {scored(series, [d for d in every if is_billed(d)][-8:], ways)} |")
            print(
                f"| {name}: others | {scored(series, [d for d in every if not is_billed(d)][-8:], ways)} |", flush=True
            )
        return
    for trace in traces(given.traces, {name for name in given.names.split(",") if name}):
        if trace.window_s > 3600 or trace.span_s < 2 * LEARNT.total_seconds():
            continue
        series = replace(trace.resampled(3600), timezone=ZONES.get(trace.source, trace.timezone))
        print(f"{series.source}: {looks(series)}", flush=True)
        years = range(series.start.year, series.end.year + 2)
        holidays = EventCalendar(public_holidays(given.country, None, years, series.timezone))
        ways["holidays"] = lambda known, start, end, of=holidays: of.between(start, end)
        ways["past days, holidays"] = lambda known, start, end, of=holidays: (
            with_past_days(of, known, start, end).calendar
        )
        winters = [y for y in years if datetime(y + 1, 1, 4, tzinfo=UTC) < series.end][-given.winters or len(years) :]
        days = [date(y, 12, 20) + timedelta(days=number) for y in winters for number in range(14)]
        if days:
            print(f"| | {' | '.join(ways)} |\n{'|---' * (len(ways) + 1)}|")
            print(f"| {series.source} | {scored(series, days, ways)} |", flush=True)


if __name__ == "__main__":
    main()
