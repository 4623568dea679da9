"""The ledger's tables. A change here needs a revision in migrations/versions; a test compares the two."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, CheckConstraint, Double, ForeignKey, Index, MetaData, Text, text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from planner.ledger.step_state import StepState
from planner.ledger.utc_datetime import UtcDateTime


class Base(DeclarativeBase):
    # SQLite can only drop or alter what has a name.
    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {datetime: UtcDateTime, str: Text, float: Double, dict[str, Any]: JSON}  # noqa: RUF012


class ForecastTable(Base):
    __tablename__ = "forecasts"

    id: Mapped[str] = mapped_column(primary_key=True)
    topology: Mapped[str]
    source: Mapped[str]
    issued_at: Mapped[datetime]
    horizon_end: Mapped[datetime]
    run_id: Mapped[str]
    model_version: Mapped[str]
    folder: Mapped[str]
    history_digest: Mapped[str]
    history_snapshot: Mapped[str] = mapped_column(server_default=text("''"))

    __table_args__ = (Index(None, "topology", "issued_at"),)


class ScheduleTable(Base):
    __tablename__ = "schedules"

    id: Mapped[str] = mapped_column(primary_key=True)
    topology: Mapped[str]
    made_at: Mapped[datetime]
    start_at: Mapped[datetime]
    end_at: Mapped[datetime]
    quantile: Mapped[float]
    why: Mapped[str]
    current_plan: Mapped[dict[str, Any]]
    body: Mapped[dict[str, Any]]
    report: Mapped[str]
    derived_from: Mapped[dict[str, Any]]

    __table_args__ = (Index(None, "topology", "made_at"),)


class ScheduleForecastTable(Base):
    """Which forecasts a schedule rests on."""

    __tablename__ = "schedule_forecasts"

    schedule_id: Mapped[str] = mapped_column(ForeignKey("schedules.id"), primary_key=True)
    forecast_id: Mapped[str] = mapped_column(ForeignKey("forecasts.id"), primary_key=True)


class StepTable(Base):
    __tablename__ = "steps"

    id: Mapped[str] = mapped_column(primary_key=True)
    schedule_id: Mapped[str | None] = mapped_column(ForeignKey("schedules.id"), index=True)
    position: Mapped[int]
    topology: Mapped[str]
    deploy_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    plan: Mapped[dict[str, Any]]
    replaces: Mapped[dict[str, Any]]
    state: Mapped[str]
    reason: Mapped[str]
    updated_at: Mapped[datetime]
    updated_by: Mapped[str]
    attempt: Mapped[int] = mapped_column(default=0)

    __table_args__ = (
        Index(None, "topology", "state", "deploy_at"),
        CheckConstraint("state IN ({})".format(", ".join(f"'{state}'" for state in StepState)), name="state"),
    )


class StepEventTable(Base):
    __tablename__ = "step_events"

    id: Mapped[int] = mapped_column(primary_key=True)
    step_id: Mapped[str] = mapped_column(ForeignKey("steps.id"), index=True)
    from_state: Mapped[str | None]
    to_state: Mapped[str]
    at: Mapped[datetime]
    by: Mapped[str]
    why: Mapped[str]


class OutcomeTable(Base):
    __tablename__ = "outcomes"

    step_id: Mapped[str] = mapped_column(ForeignKey("steps.id"), primary_key=True)
    verified_at: Mapped[datetime | None]
    downtime_s: Mapped[float | None]
    predicted: Mapped[dict[str, Any]]
    measured: Mapped[dict[str, Any]]
    violation_minutes: Mapped[int | None]


class BlacklistTable(Base):
    __tablename__ = "blacklist"

    topology: Mapped[str] = mapped_column(primary_key=True)
    action: Mapped[str] = mapped_column(primary_key=True)
    until: Mapped[datetime]
    why: Mapped[str]
