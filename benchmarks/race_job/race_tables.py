"""The table of a race: engine beside replay."""

from collections.abc import Mapping

from calibration import Calibrated
from contest import CORES, RaceTerms
from load import RaceLoad
from outcome import Raced

from planner.replay.run import Replayed
from planner.replay.scores import Score, scores
from planner.replay.timeline import Timeline, track_of

COLUMNS = (
    "policy",
    "instance-hours: engine; replay",
    "difference",
    "minutes late: engine; replay",
    "difference, points",
    "rescales: engine; replay",
    "down, s: engine; replay",
    "longest lag, s",
    "core-hours",
    "used",
    "lost; doubled",
)


def race_table(
    load: RaceLoad, terms: RaceTerms, known: Calibrated, done: Mapping[str, Raced], simulated: Mapping[str, Replayed]
) -> str:
    """In Markdown, the cheapest first. Hours are the trace's; core-hours the race's."""
    engine = _scores(terms, load, [each.minutes for each in done.values()])
    replay = _scores(terms, load, list(simulated.values()))
    lines = [
        f"{load.raced.size / 60:g} h at {load.speed:g} times their speed: {load.raced.sum()} events, "
        f"{known.per_instance_s:.2f}/s an instance of {CORES} cores, a rescale takes {known.downtime_s:.1f} s, "
        f"late: more than {terms.max_lag_s:g} s of the race",
        "",
        f"| {' | '.join(COLUMNS)} |",
        "| --- " * len(COLUMNS) + "|",
    ]
    for name in sorted(done, key=lambda each: engine[each].instance_hours):
        one, real, same = done[name], engine[name], replay[name]
        cells = (
            name,
            f"{real.instance_hours:.1f}; {same.instance_hours:.1f}",
            f"{real.instance_hours / same.instance_hours - 1:+.1%}",
            f"{real.violation_share:.2%}; {same.violation_share:.2%}",
            f"{100 * (real.violation_share - same.violation_share):+.2f}",
            f"{len(one.minutes.decisions)}; {len(simulated[name].decisions)}",
            f"{one.minutes.down_s.sum() / load.speed:.0f}; {simulated[name].down_s.sum() / load.speed:.0f}",
            f"{one.second_lag_s.max():.1f}",
            f"{one.core_hours:.3f}",
            f"{one.cpu_core_hours:.3f}",
            f"{one.totals.lost}; {one.totals.doubled}",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _scores(terms: RaceTerms, load: RaceLoad, every: list[Replayed]) -> dict[str, Score]:
    max_lag_s = terms.max_lag_s * load.speed
    tracks = tuple(track_of(each, max_lag_s) for each in every)
    return {each.policy: each for each in scores(Timeline("race", max_lag_s, tracks, (), {}, terms.allow))}
