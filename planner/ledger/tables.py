"""The ledger's tables. A change here needs a revision in migrations/versions; a test compares the two."""

from datetime import date, datetime
from typing import Any

from sqlalchemy import BigInteger, CheckConstraint, Double, ForeignKey, Index, MetaData, Text, false, text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from planner.guard_facts import GuardState
from planner.ledger.step_state import StepState
from planner.ledger.stored_values import StoredBody, StoredDate, StoredFlag, UtcDateTime


class Base(DeclarativeBase):
    # SQLite can only drop or alter named constraints.
    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {  # noqa: RUF012
        datetime: UtcDateTime,
        date: StoredDate,
        bool: StoredFlag,
        str: Text,
        float: Double,
        dict[str, Any]: StoredBody,
    }


class ForecastTable(Base):
    """set_aside_at: when it was found to be of a time ahead, NULL while it counts."""

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
    set_aside_at: Mapped[datetime | None]

    __table_args__ = (Index(None, "topology", "issued_at"),)


class ScheduleTable(Base):
    """replaced_by: id of a step by hand whose plan runs instead, NULL without one. set_aside_at: as of a forecast."""

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
    basis: Mapped[dict[str, Any]]
    shadow: Mapped[bool] = mapped_column(server_default=false())
    replaced_by: Mapped[str | None]
    set_aside_at: Mapped[datetime | None]

    __table_args__ = (Index(None, "topology", "made_at"),)


class ScheduleForecastTable(Base):
    """Which forecasts a schedule was made from."""

    __tablename__ = "schedule_forecasts"

    schedule_id: Mapped[str] = mapped_column(ForeignKey("schedules.id"), primary_key=True)
    forecast_id: Mapped[str] = mapped_column(ForeignKey("forecasts.id"), primary_key=True)


class StepTable(Base):
    """moved: why it replaces another plan than its schedule says, empty if it does not. asked_because: why a person has
    to approve it, as earlier releases worded it. never_asked: it was rolled back before the cluster was asked.
    withheld: why it last waited; review_cause: why a person has to approve it; cause: why it is in its state; empty
    objects without a reason. reason: the cause in words of a person, or of an earlier release.
    """

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
    made_by: Mapped[str]
    moved: Mapped[str] = mapped_column(server_default=text("''"))
    asked_because: Mapped[str] = mapped_column(server_default=text("''"))
    never_asked: Mapped[bool] = mapped_column(server_default=false())
    withheld: Mapped[dict[str, Any]] = mapped_column(server_default=text("'{}'"))
    review_cause: Mapped[dict[str, Any]] = mapped_column(server_default=text("'{}'"))
    cause: Mapped[dict[str, Any]] = mapped_column(server_default=text("'{}'"))

    __table_args__ = (
        Index(None, "topology", "state", "deploy_at"),
        CheckConstraint("state IN ({})".format(", ".join(f"'{state}'" for state in StepState)), name="state"),
    )


class StepEventTable(Base):
    """approval: how, for the move to `approved`; empty for any other. cause, why: as cause and reason of a step."""

    __tablename__ = "step_events"

    id: Mapped[int] = mapped_column(primary_key=True)
    step_id: Mapped[str] = mapped_column(ForeignKey("steps.id"), index=True)
    from_state: Mapped[str | None]
    to_state: Mapped[str]
    at: Mapped[datetime]
    by: Mapped[str]
    why: Mapped[str]
    approval: Mapped[str] = mapped_column(server_default=text("''"))
    cause: Mapped[dict[str, Any]] = mapped_column(server_default=text("'{}'"))


class OutcomeTable(Base):
    __tablename__ = "outcomes"

    step_id: Mapped[str] = mapped_column(ForeignKey("steps.id"), primary_key=True)
    verified_at: Mapped[datetime | None]
    downtime_s: Mapped[float | None]
    predicted: Mapped[dict[str, Any]]
    measured: Mapped[dict[str, Any]]
    violation_minutes: Mapped[int | None]


class DeploymentSpeedTable(Base):
    """What a job took in between two moments after a step's plan began to run, and the capacity that was predicted."""

    __tablename__ = "deployment_speeds"

    step_id: Mapped[str] = mapped_column(ForeignKey("steps.id"), primary_key=True)
    from_s: Mapped[float] = mapped_column(primary_key=True)
    until_s: Mapped[float]
    taken_per_s: Mapped[float]
    capacity_per_s: Mapped[float]


class ObservationTable(Base):
    """What the cluster ran at a moment, beside a shadow. backlog is an empty object if unknown."""

    __tablename__ = "observations"

    topology: Mapped[str] = mapped_column(primary_key=True)
    observed_at: Mapped[datetime] = mapped_column(primary_key=True)
    plan: Mapped[dict[str, Any]]
    status: Mapped[str]
    backlog: Mapped[dict[str, Any]]
    lag_s: Mapped[float | None]
    unmeasured: Mapped[str]


class ShadowDayTable(Base):
    __tablename__ = "shadow_days"

    topology: Mapped[str] = mapped_column(primary_key=True)
    day: Mapped[date] = mapped_column(primary_key=True)
    accrued_at: Mapped[datetime]
    max_lag_s: Mapped[float]
    observed_minutes: Mapped[int]
    measured_minutes: Mapped[int]
    real_instance_hours: Mapped[float]
    real_violation_minutes: Mapped[int]
    real_rescales: Mapped[int]
    instance_hours: Mapped[float]
    instance_hours_observed: Mapped[float]
    violation_minutes: Mapped[int]
    violation_minutes_measured: Mapped[int]
    rescales: Mapped[int]
    rescales_observed: Mapped[int] = mapped_column(server_default="0")
    backlog: Mapped[float]
    notes: Mapped[str]


class LagHourTable(Base):
    """Minutes of an hour with a known lag, and those in violation: bit n is minute n."""

    __tablename__ = "lag_hours"

    topology: Mapped[str] = mapped_column(primary_key=True)
    hour: Mapped[datetime] = mapped_column(primary_key=True)
    known: Mapped[int] = mapped_column(BigInteger)
    in_violation: Mapped[int] = mapped_column(BigInteger)


class GuardLookTable(Base):
    """Recent measurements of the guard; older ones are deleted."""

    __tablename__ = "guard_looks"

    topology: Mapped[str] = mapped_column(primary_key=True)
    at: Mapped[datetime] = mapped_column(primary_key=True)
    body: Mapped[dict[str, Any]]


class GuardActionTable(Base):
    """What the guard did or advised. For advice, step_id is NULL and plan an empty object. judgement: why it has its
    verdict, an empty object while it has none.
    """

    __tablename__ = "guard_actions"

    id: Mapped[str] = mapped_column(primary_key=True)
    topology: Mapped[str]
    decided_at: Mapped[datetime]
    diagnosis: Mapped[str]
    action: Mapped[str]
    operator: Mapped[str]
    reason: Mapped[dict[str, Any]] = mapped_column(server_default=text("'{}'"))
    step_id: Mapped[str | None] = mapped_column(ForeignKey("steps.id"))
    plan: Mapped[dict[str, Any]]
    before: Mapped[dict[str, Any]]
    expected: Mapped[dict[str, Any]]
    state: Mapped[str]
    judged_at: Mapped[datetime | None]
    judgement: Mapped[dict[str, Any]] = mapped_column(server_default=text("'{}'"))
    measured: Mapped[dict[str, Any]]

    __table_args__ = (
        Index(None, "topology", "decided_at"),
        CheckConstraint("state IN ({})".format(", ".join(f"'{state}'" for state in GuardState)), name="state"),
    )


class GuardBlacklistTable(Base):
    """Pairs that kept failing. failures: in a row; last: why the last one was one. lifted_at is NULL while a pair is
    barred; earlier failures do not count again.
    """

    __tablename__ = "guard_blacklist"

    topology: Mapped[str] = mapped_column(primary_key=True)
    diagnosis: Mapped[str] = mapped_column(primary_key=True)
    action: Mapped[str] = mapped_column(primary_key=True)
    since: Mapped[datetime]
    failures: Mapped[int] = mapped_column(server_default=text("0"))
    last: Mapped[dict[str, Any]] = mapped_column(server_default=text("'{}'"))
    lifted_at: Mapped[datetime | None]
    lifted_by: Mapped[str]


class NoticeTable(Base):
    """Messages by the service that accepted them. told_at is NULL while one is being sent; over_at while its incident
    lasts.
    """

    __tablename__ = "notices"

    service: Mapped[str] = mapped_column(primary_key=True)
    topology: Mapped[str] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column(primary_key=True)
    subject: Mapped[str] = mapped_column(primary_key=True)
    begun_at: Mapped[datetime]
    told_at: Mapped[datetime | None]
    over_at: Mapped[datetime | None]
