"""A ledger as release 0.1 began it: its first revision's tables, filled by SQL with what was written then."""

from typing import Any

from alembic import command
from ledger_decisions import NOON, after
from sqlalchemy import MetaData, Table, insert

from planner.ledger.database import Database
from planner.ledger.migrate import _config


def upgrade_to(url: str, revision: str) -> None:
    config = _config()
    with Database(url).connection() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)


def _plan(count: int) -> dict[str, Any]:
    return {"topology": "calls", "parallelism": {"ingest": 1, "transcribe": count}, "packing": []}


EXCUSE = {
    "plan": _plan(2),
    "bottleneck": "transcribe",
    "quantity": "utilisation",
    "value": 1.2,
    "bound": 1.0,
    "remedy": "raise its parallelism",
}
SCHEDULE = {
    "topology": "calls",
    "made_at": NOON.isoformat(),
    "start": NOON.isoformat(),
    "end": after(1440).isoformat(),
    "quantile": 0.95,
    "current": _plan(2),
    "steps": [],
    "cost_instance_hours": 50.0,
    "why": "the day's calls",
    "short_s": 90.0,
    "alternatives": [],
    "excuses": [EXCUSE],
    "derived_from": {"forecast": "f1"},
}
ROWS: dict[str, dict[str, Any]] = {
    "forecasts": {
        "id": "f1",
        "topology": "calls",
        "source": "ingest",
        "issued_at": NOON,
        "horizon_end": after(1440),
        "run_id": "run-1",
        "model_version": "3",
        "folder": "forecasts/run-1",
        "history_digest": "ab" * 32,
    },
    "schedules": {
        "id": "s1",
        "topology": "calls",
        "made_at": NOON,
        "start_at": NOON,
        "end_at": after(1440),
        "quantile": 0.95,
        "why": "the day's calls",
        "current_plan": _plan(2),
        "body": SCHEDULE,
        "report": "reports/s1.html",
        "derived_from": {"forecast": "f1"},
    },
    "schedule_forecasts": {"schedule_id": "s1", "forecast_id": "f1"},
    "steps": {
        "id": "s1-1",
        "schedule_id": "s1",
        "position": 1,
        "topology": "calls",
        "deploy_at": after(2),
        "expires_at": after(60),
        "plan": _plan(3),
        "replaces": _plan(2),
        "state": "deploying",
        "reason": "",
        "updated_at": after(2),
        "updated_by": "deployer",
        "attempt": 1,
    },
    "step_events": {
        "step_id": "s1-1",
        "from_state": None,
        "to_state": "deploying",
        "at": after(2),
        "by": "deployer",
        "why": "",
    },
    "outcomes": {
        "step_id": "s1-1",
        "verified_at": after(5),
        "downtime_s": 25.0,
        "predicted": {},
        "measured": {"latency_s": "inf"},
        "violation_minutes": None,
    },
    "blacklist": {"topology": "calls", "action": "scale up", "until": after(60), "why": "it failed"},
}


def fill_first_ledger(url: str) -> None:
    upgrade_to(url, "0001")
    with Database(url).connection() as connection:
        for name, row in ROWS.items():
            table = Table(name, MetaData(), autoload_with=connection, resolve_fks=False)
            connection.execute(insert(table).values(**row))
