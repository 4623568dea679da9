"""`forescale demo` and `up`: see it run on a real trace."""

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from forecasting.forecast import QUANTILES
from forescale.cli.forecast_run import horizon_text
from forescale.cli.installation import settings_of
from forescale.cli.output import AsJson, console, plain, say_json, table
from forescale.report.kit.schedule_words import schedule_words
from forescale.report.kit.step_reasons import reason_words
from forescale.settings import Settings
from modeling.wording import count_of
from planner.scaling_schedule import AlternativeKind

Port = Annotated[
    int,
    typer.Option(min=0, max=65535, help="Preferred port; the next free one where it is taken, an error with --home."),
]


def demo(
    context: typer.Context,
    quick: Annotated[
        bool, typer.Option(help="Two weeks of history and half a day ahead: about half the work.")
    ] = False,
    flink: Annotated[
        bool, typer.Option("--flink", help="On a real Flink on loopback: predicted against measured, and the guard.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """The main job on a real trace; about two minutes.

    With Airflow, Spark, MLflow and the cluster simulator.
    """
    if flink:
        if quick:
            raise typer.BadParameter("--quick and --flink exclude each other")
        _demo_flink(settings_of(context), as_json=as_json)
        return
    from forescale.local.demo.run import demo_settings, fresh_home, run_demo
    from forescale.local.demo.span import FULL, QUICK
    from forescale.local.processes import ended_by_signals

    settings = demo_settings(settings_of(context), "demo", clock="trace", review=False, schedule="none")
    say = _Progress(quiet=as_json)
    with ended_by_signals(), fresh_home(settings), say:
        result = run_demo(settings, say, QUICK if quick else FULL)
    summary = _summary(result)
    if as_json:
        say_json(summary)
    else:
        _show(summary)


def up(
    context: typer.Context,
    home: Annotated[
        Path | None, typer.Option(help="A home made by `forescale config init`; without it the demo's data.")
    ] = None,
    port: Port = 8080,
    mlflow_port: Port = 5000,
) -> None:
    """Airflow's and MLflow's web pages on loopback, until Ctrl-C.

    Of a home, or with the demo's data.
    """
    from forescale.local.up import Ports, home_to_serve
    from forescale.local.up import up as serve

    if home is not None:
        settings, dags = home_to_serve(home)
        serve(settings, plain, Ports(port, mlflow_port, tries=1), dags=dags)
        return
    from forescale.local.demo.live import prepare_live
    from forescale.local.demo.run import demo_settings

    live = prepare_live(demo_settings(settings_of(context), "up", clock="real"), datetime.now(UTC), plain)
    serve(live.settings, plain, Ports(port, mlflow_port), feed=lambda: live.feed(datetime.now(UTC)))


def _demo_flink(base: Settings, *, as_json: bool) -> None:
    """Compares prediction and measurement, and lets the guard heal a job that is too small."""
    from forescale.cli.demo_flink_summary import show_flink
    from forescale.local.demo.flink_run import run_flink_demo
    from forescale.local.demo.run import demo_settings, fresh_home
    from forescale.local.processes import ended_by_signals

    topologies = base.home / "demo-flink" / "topologies"
    changes = {"clock": "paced", "review": False, "schedule": "none", "topologies": topologies}
    settings = demo_settings(base, "demo-flink", **changes)
    say = _Progress(quiet=as_json)
    with ended_by_signals(), fresh_home(settings), say:
        result = run_flink_demo(settings, say)
    show_flink(result, as_json=as_json)
    if result.healing.watch.failure:
        raise typer.Exit(1)


class _Progress:
    """Prints a line per stage with the seconds since the start; shows a spinner in between."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._begun = time.monotonic()
        self._status = console.status("starting")

    def __enter__(self) -> "_Progress":
        if not self._quiet:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._status.stop()

    def __call__(self, stage: str, text: str) -> None:
        if self._quiet:
            return
        plain(f"{time.monotonic() - self._begun:6.1f} s  {stage:<10} {text}")
        self._status.update(f"{stage} …")


def _summary(result: Any) -> dict[str, Any]:
    from forescale.jobs.newest_forecasts import recorded_forecast

    forecasts = {entry.source: recorded_forecast(entry) for entry in result.forecasts}
    after, schedule = result.after, result.schedule.schedule
    return {
        "events_read": result.data.rows,
        "calls": result.data.calls,
        "decided_at": schedule.made_at.isoformat(),
        "peaks_per_s": {
            source: {
                horizon: dict(zip(map(str, forecast.quantiles), peak.tolist(), strict=True))
                for horizon, peak in forecast.peak_per_s.items()
            }
            for source, forecast in forecasts.items()
        },
        "forecasters": {source: dict(forecast.forecaster) for source, forecast in forecasts.items()},
        "schedule_id": result.schedule.id,
        "why": schedule_words(schedule),
        "steps": [
            {
                "step_id": step.id,
                "deploy_at": step.deploy_at.isoformat(),
                "needed_from": scheduled.needed_from.isoformat(),
                "plan": step.plan.brief(),
                "state": str(step.state),
                "detail": reason_words(step),
            }
            for step, scheduled in zip(result.steps, schedule.steps, strict=True)
        ],
        "calls_that_came": float(sum(offered.sum() for offered in after.offered.values())),
        "largest_lag_s": float(after.lag_s.max()),
        "violation_minutes": result.violation_minutes,
        "instance_hours": after.instance_hours,
        "instance_hours_static": next(
            a.cost_instance_hours for a in schedule.alternatives if a.kind is AlternativeKind.STATIC
        ),
        "report": str(result.report),
    }


def _show(summary: dict[str, Any]) -> None:
    plain("")
    plain(f"{summary['events_read']:,} raw events read, {summary['calls']:,} calls counted")
    for source, peaks in summary["peaks_per_s"].items():
        rows = [
            (horizon_text(h), *(f"{peak[str(q)]:.3g}" for q in QUANTILES), summary["forecasters"][source][h])
            for h, peak in peaks.items()
        ]
        columns = ["within", *(f"p{q * 100:g}" for q in QUANTILES), "forecaster"]
        console.print(table(f"forecast peak of {source}, calls per s", columns, rows))
    rows = [(_clock(s["deploy_at"]), _clock(s["needed_from"]), s["plan"], s["state"]) for s in summary["steps"]]
    console.print(table("schedule", ["deployed (UTC)", "needed from", "plan", "state"], rows))
    saved = 1 - summary["instance_hours"] / summary["instance_hours_static"]
    plain(
        f"then {summary['calls_that_came']:,.0f} calls came: {count_of(summary['violation_minutes'], 'minute')} "
        "of violation, "
        f"largest lag {summary['largest_lag_s']:.0f} s, {summary['instance_hours']:.0f} instance-hours "
        f"({saved:.0%} less than a static plan for the peak)"
    )
    plain(f"report: {summary['report']}")


def _clock(moment: str) -> str:
    return f"{datetime.fromisoformat(moment):%a %H:%M:%S}"
