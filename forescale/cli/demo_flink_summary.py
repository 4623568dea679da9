"""The end of `forescale demo --flink`: the deployed schedule, prediction against measurement, what the guard did."""

from dataclasses import asdict
from typing import Any

from forescale.cli.guard_json import action_json, turn_json
from forescale.cli.output import console, plain, say_json, table
from forescale.local.demo.flink_healing import Healing
from forescale.local.demo.flink_run import FlinkDemoResult
from forescale.local.demo.guard_watch import WatchedTurn
from forescale.report.kit.guard_words import judgement_words, reason_words, symptom_words


def show_flink(result: FlinkDemoResult, *, as_json: bool) -> None:
    measured = result.measurement
    if as_json:
        say_json(
            {
                "schedule_id": result.schedule.id,
                "steps": [
                    {"step_id": s.id, "deploy_at": s.deploy_at, "plan": s.plan.brief(), "state": str(s.state)}
                    for s in result.steps
                ],
                "calibrated_at": measured.calibrated_at.brief(),
                "service_s": {name: p.service_s for name, p in measured.profiles.items()},
                "measured": [{**asdict(row), "plan": row.plan.brief(), "error": row.error} for row in measured.rows],
                "median_error": measured.median_error,
                "bottlenecks_right": measured.bottlenecks_right,
                "guard": healing_json(result.healing),
                "report": str(result.report),
            }
        )
        return
    plain("")
    rows = [(f"{s.deploy_at:%a %H:%M:%S}", s.plan.brief(), s.state, s.reason) for s in result.steps]
    console.print(table("deployed to Flink", ["deploy at (UTC)", "plan", "state", "detail"], rows))
    compared = [
        (
            row.plan.brief(),
            f"{row.predicted_per_s:.0f}/s",
            f"{row.measured_per_s:.0f}/s",
            f"{row.error:+.1%}",
            row.predicted_bottleneck,
            row.measured_bottleneck,
        )
        for row in measured.rows
    ]
    title = f"maximum throughput, calibrated at {measured.calibrated_at.brief()} only"
    columns = ["plan, never seen before", "predicted", "measured", "error", "bottleneck predicted", "measured"]
    console.print(table(title, columns, compared))
    plain(
        f"median error {measured.median_error:.1%}; bottleneck right in {measured.bottlenecks_right} of "
        f"{len(measured.rows)}"
    )
    show_healing(result.healing)
    plain(f"report: {result.report}")


def healing_json(healing: Healing) -> dict[str, Any]:
    """failure: why the guard did not heal the job, None if it did. before, after: measured when the guard decided and
    when it judged. turns: every turn of the guard with its message.
    """
    watch = healing.watch
    return {
        "failure": watch.failure or None,
        "offered_per_s": healing.offered_per_s,
        "plan": healing.plan.brief(),
        "made_too_small": healing.too_small.brief(),
        "action": None if watch.action is None else action_json(watch.action),
        "before": None if watch.before is None else _measured_json(watch.before),
        "after": None if watch.after is None else _measured_json(watch.after),
        "turns": [{**_measured_json(each), **turn_json(each.turn)} for each in watch.turns],
    }


def show_healing(healing: Healing) -> None:
    watch = healing.watch
    rows = [
        (when, _plan(turn), *_measured(turn))
        for when, turn in (("before", watch.before), ("after", watch.after))
        if turn is not None
    ]
    plain(
        f"{healing.offered_per_s:g}/s arrive; {healing.plan.brief()} was made too small by hand: "
        f"{healing.too_small.brief()}"
    )
    columns = ["", "plan", "taken in", "waiting", "lag", "after the change"]
    console.print(table("what the guard measured", columns, rows))
    if watch.before is not None:
        plain(f"it saw: {'; '.join(map(symptom_words, watch.before.turn.symptoms)) or 'nothing'}")
    if watch.action is not None:
        plain(f"it did: {watch.action.action} by step {watch.action.step_id}: {reason_words(watch.action.reason)}")
    if watch.failure:
        plain(f"the guard did not heal the job: {watch.failure}")
    elif watch.action is not None:
        plain(f"it was {watch.action.state}: {judgement_words(watch.action)}")


def _plan(watched: WatchedTurn) -> str:
    return " · ".join(f"{name} {count}" for name, count in watched.turn.plan.items())


def _measured(watched: WatchedTurn) -> tuple[str, str, str, str]:
    return (
        "unknown" if watched.taken_per_s is None else f"{watched.taken_per_s:.0f}/s",
        "unknown" if watched.backlog is None else f"{watched.backlog:,.0f}",
        "unknown" if watched.lag_s is None else f"{watched.lag_s:.0f} s",
        f"{watched.after_s:.0f} s",
    )


def _measured_json(watched: WatchedTurn) -> dict[str, float | None]:
    return {
        "after_s": watched.after_s,
        "taken_per_s": watched.taken_per_s,
        "backlog": watched.backlog,
        "lag_s": watched.lag_s,
    }
