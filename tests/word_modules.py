"""Where sentences of pages and commands are made; other modules of pages hold styles and scripts too."""

from pathlib import Path

_CLI = Path(__file__).parents[1] / "forescale" / "cli"
WORDED = {f"forescale.cli.{path.stem}" for path in _CLI.glob("*.py") if path.stem != "__init__"} | {
    f"forescale.report.{module}"
    for module in (
        "decision.brief",
        "decision.evidence_tables",
        "decision.last_day_words",
        "decision.outcome_table",
        "decision.plan_tables",
        "decision.shadow_table",
        "decision.verdict",
        "forecasts.backtest_page",
        "forecasts.fleet_page",
        "history.history_page",
        "kit.decision_words",
        "kit.drift_words",
        "kit.guard_words",
        "kit.outage_words",
        "kit.schedule_words",
        "kit.stands_on",
        "kit.step_reasons",
        "overview.actions",
        "overview.alarms",
        "overview.overview_page",
        "overview.standing_cells",
        "overview.topology_page",
        "replay.labels",
        "replay.score_columns",
        "whatif.words",
    )
}
