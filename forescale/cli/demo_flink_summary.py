"""What `forescale demo-flink` ends with: the deployed schedule, and prediction against measurement."""

from dataclasses import asdict

from forescale.cli.output import console, plain, say_json, table
from forescale.local.demo.flink_run import FlinkDemoResult


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
    plain(f"report: {result.report}")
