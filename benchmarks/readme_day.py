"""README's picture: one real day under forescale and under a reactive autoscaler, replayed.

    python benchmarks/readme_day.py --work DIR [--traces DIR --trace NAME] [--days 3] [--out docs/day.svg]

Replays one operator behind a source as `benchmarks/replay.py` does (5 min of lead, 2 min of downtime, hourly forecasts,
service times 10 % off, .2 % of the minutes may be late) over the last --days of a trace, and draws the day with the
most arrivals. The trace is the demo's call-centre counts, or a CSV file of --traces. --work keeps the replay: run
again, it only draws. Prints the figures of the caption.
"""

import argparse
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
from replay import Asked, Case, replayed  # its folder comes first in the path; it then leaves it

from forescale.files.atomic import write_whole
from forescale.report.kit.figure import ARRIVED, CAPACITY, FORECAST, KeyEntry, ReportFigure, base_layout, plotly_times
from forescale.report.kit.still import still_picture
from forescale.report.kit.traces import line
from modeling.arrays import Floats
from planner.replay.timeline import Track, read_timeline

OURS, RIVAL = "planner", "flink-autoscaler"
CASE = {"topology": "one", "lead_s": 300.0, "downtime_s": 120.0}
DAY_MINUTES = 1440
LOOKS = {OURS: ("forescale", CAPACITY), RIVAL: ("Flink's autoscaler", FORECAST)}


def busiest_day(track: Track) -> slice:
    """The whole UTC day with the most arrivals."""
    first = int(-(track.minute[0] // 60) % DAY_MINUTES)
    days = (track.minute.size - first) // DAY_MINUTES
    totals = [track.arrivals_per_s[first + at * DAY_MINUTES :][:DAY_MINUTES].sum() for at in range(days)]
    start = first + int(np.argmax(totals)) * DAY_MINUTES
    return slice(start, start + DAY_MINUTES)


def corners(track: Track, day: slice, values: Floats) -> tuple[list[str], Floats]:
    """Times and values of a day, without those that lie between two like them."""
    seen = values[day]
    like_before = np.append(False, seen[1:] == seen[:-1])
    kept = ~(like_before & np.append(like_before[1:], False))
    return plotly_times([datetime.fromtimestamp(at, UTC) for at in track.minute[day][kept].tolist()]), seen[kept]


def day_picture(tracks: dict[str, Track], day: slice) -> str:
    """Load and capacities above, lags below."""
    ours = tracks[OURS]
    start = datetime.fromtimestamp(float(ours.minute[day][0]), UTC)
    above, below = (go.Figure(layout=base_layout(start, start + timedelta(days=1), "")) for _ in range(2))
    above.add_trace(line(*corners(ours, day, ours.arrivals_per_s), "load", ARRIVED, 1.5))
    for policy, track in tracks.items():
        name, colour = LOOKS[policy]
        above.add_trace(line(*corners(track, day, track.capacity_per_s), name, colour, 2, line_shape="hv"))
        below.add_trace(line(*corners(track, day, track.lag_s / 60), name, colour, 1.5))
    key = [KeyEntry("load", "line", ARRIVED)]
    key += [KeyEntry(f"capacity with {LOOKS[policy][0]}", "line", LOOKS[policy][1]) for policy in tracks]
    title = f"{start:%A %-d %B %Y}, UTC: load, and what the running plan can process, events per second"
    names = " and ".join(LOOKS[policy][0] for policy in tracks)
    figures = [
        ReportFigure(title, f"Load and capacity on one day, with {names}.", above, tuple(key), {}, {}),
        ReportFigure("Lag, minutes", f"Lag in minutes, with {names}.", below, (), {}, {}),
    ]
    return still_picture(figures)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder for the replay")
    parser.add_argument("--traces", type=Path, help="folder of CSV files")
    parser.add_argument("--trace", default="bank_calls", help="one of them; by default the demo's call-centre counts")
    parser.add_argument("--days", type=float, default=3.0)
    parser.add_argument("--out", type=Path, default=Path("docs/day.svg"))
    given = parser.parse_args()
    case = Case(given.trace, **CASE)
    asked = Asked(given.traces, given.work, given.days, 1, (OURS, RIVAL), 3600)
    timeline_file = given.work / "timelines" / f"{case.name}.parquet"
    if not asked.answer(case).exists():
        replayed(case, asked)
    timeline = read_timeline(timeline_file)
    tracks = {policy: timeline.of(policy)[0] for policy in (OURS, RIVAL)}
    day = busiest_day(tracks[OURS])
    write_whole(day_picture(tracks, day), given.out)
    for policy, track in tracks.items():
        changes = track.changes_s
        inside = ((changes >= track.minute[day][0]) & (changes <= track.minute[day][-1])).sum()
        hours, late = track.instances[day].sum() / 60, int(track.violation[day].sum())
        print(f"{LOOKS[policy][0]}: {hours:.0f} instance-hours, {late} minutes late, {inside} rescales")
    print(f"wrote {given.out}")


if __name__ == "__main__":
    main()
