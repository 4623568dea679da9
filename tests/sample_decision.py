"""A realistic decision for tests of the report: a call centre's evening, planned for the next day. Synthetic values."""

from datetime import UTC, datetime, timedelta

import numpy as np

from forecasting.arrivals.history import ArrivalHistory, ArrivalSeries
from forecasting.forecast import BacktestScore, Forecast
from forescale.report.decision.decision import CapacityStep, DecisionOutcome, DecisionReport
from modeling.estimate import Estimate, OperatorEstimate
from modeling.excuse import Excuse
from modeling.flow.limits import OperatorLimit
from modeling.flow.resources import Resources
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.queueing.queues import UNSTABLE
from planner.decision_basis import DecisionBasis
from planner.lag_record import LagRecord
from planner.ledger.entries import Outcome
from planner.scaling_schedule import Alternative, AlternativeKind, ScalingSchedule, ScheduledStep

TOPOLOGY, SOURCE = "call-analytics", "ingest"
NOW = datetime(2003, 10, 23, 21, 30, tzinfo=UTC)
END = NOW + timedelta(hours=24)
STEP_S = 300
MAX_UTILISATION = 0.85
SERVICE_S = {"ingest": 0.005, "transcribe": 8.12, "classify": 0.26, "count": 0.01}
STREAMS = {"ingest": "ingest->transcribe", "transcribe": "transcribe->classify", "classify": "classify->count"}
WHY = "4 rescales follow the forecast over 24 h"


def mean_rate_per_s(at: datetime) -> float:
    """Open on weekdays from 7:00 to 21:00, busiest in the late morning."""
    hour = at.hour + at.minute / 60
    if at.weekday() >= 5 or not 7 <= hour < 21:
        return 0.0
    return 0.25 + 1.3 * float(np.exp(-(((hour - 10.2) / 2.2) ** 2))) + 0.6 * float(np.exp(-(((hour - 15) / 3) ** 2)))


def series(start: datetime, end: datetime, rng: np.random.Generator, source: str = SOURCE) -> ArrivalSeries:
    starts = [start + timedelta(seconds=60 * i) for i in range(int((end - start).total_seconds() // 60))]
    counts = rng.poisson([60 * mean_rate_per_s(at) for at in starts]).astype(float)
    return ArrivalSeries(TOPOLOGY, source, start, 60, counts)


def history(source: str = SOURCE) -> ArrivalHistory:
    """Four days with an outage of 70 minutes of the feed."""
    whole = series(NOW - timedelta(days=4), NOW, np.random.default_rng(7), source)
    counts = whole.counts.copy()
    gap = int((datetime(2003, 10, 22, 13, 20, tzinfo=UTC) - whole.start).total_seconds() // 60)
    counts[gap : gap + 70] = np.nan
    return ArrivalHistory(TOPOLOGY, {source: ArrivalSeries(TOPOLOGY, source, whole.start, 60, counts)})


def forecast(source: str = SOURCE, topology: str = TOPOLOGY, scale: float = 1.0) -> Forecast:
    starts = [NOW + timedelta(seconds=STEP_S * i) for i in range(86400 // STEP_S)]
    mean = scale * np.array([mean_rate_per_s(at) for at in starts])
    rate = mean[:, None] * np.array([1.0, 1.16, 1.22, 1.36])[None, :]
    mix = "time_of_week + harmonic_arima + prophet"
    return Forecast(
        issued_at=NOW,
        topology=topology,
        source=source,
        start=NOW,
        step_s=STEP_S,
        quantiles=(0.5, 0.9, 0.95, 0.99),
        rate_per_s=rate,
        peak_per_s={
            900: np.array([0.0, 0.003, 0.007, 0.01]),
            3600: np.array([0.0, 0.007, 0.01, 0.017]),
            21600: np.array([0.003, 0.01, 0.013, 0.02]),
            86400: scale * np.array([1.87, 2.11, 2.21, 2.44]),
        },
        paths_per_s=mean[None, :] * np.array([0.9, 1.0, 1.1])[:, None],
        forecaster={900: "time_of_week", 3600: "time_of_week", 21600: mix, 86400: mix},
        trained_from=NOW - timedelta(days=56),
        trained_to=NOW,
        history_digest="9f2c" * 16,
        seed=7,
        scores=(
            BacktestScore("deployed", 900, 0.021, 0.53, 0.93, 12, True, ""),
            BacktestScore("deployed", 3600, 0.034, 0.64, 0.92, 12, True, ""),
            BacktestScore("deployed", 21600, 0.052, 0.58, 0.93, 12, True, ""),
            BacktestScore("deployed", 86400, 0.061, 0.51, 0.93, 12, True, ""),
            BacktestScore("time_of_week", 86400, 0.089, 0.74, 0.94, 12, True, ""),
            BacktestScore("persistence", 86400, 0.21, 1.99, 0.94, 12, False, "loses to week-naive: ratio 1.99 >= 1"),
            BacktestScore(
                "prophet", 900, 0.049, 1.02, 0.9, 12, False, "loses to persistence: ratio 1.02 >= 1; shorten its step"
            ),
        ),
        run_id="4be1c0ffee5d4a7e9b60c2c1a7f3d9e8",
        model_version="3",
        notes=("one gap of 70 min filled seasonally",),
    )


def plan(transcribe: int, classify: int = 2) -> PhysicalPlan:
    return PhysicalPlan(TOPOLOGY, {"ingest": 1, "transcribe": transcribe, "classify": classify, "count": 1})


def estimate(of: PhysicalPlan, load_per_s: float, source: str = SOURCE) -> Estimate:
    """Utilisation = load × service time / instances for each operator, all selectivities being 1."""
    busy = {name: load_per_s * SERVICE_S[name] / count for name, count in of.parallelism.items()}
    bottleneck = max(busy, key=lambda name: busy[name])
    scale = 1 / busy[bottleneck]
    operators = {
        name: OperatorEstimate(
            name,
            count,
            load_per_s,
            np.full(count, busy[name]),
            UNSTABLE if busy[name] >= 1 else busy[name] * SERVICE_S[name] / (1 - busy[name]),
            1 / busy[name],
        )
        for name, count in of.parallelism.items()
    }
    mst_per_s = load_per_s * scale
    return Estimate(
        of.plan_id,
        {source: load_per_s},
        {source: min(load_per_s, mst_per_s)},
        {source: mst_per_s},
        scale,
        OperatorLimit(bottleneck),
        operators,
        UNSTABLE if scale <= 1 else 9.4,
        {source: max(0.0, load_per_s - mst_per_s)},
        Resources({}, {}, {}),
    )


CURRENT = plan(12)
ALTERNATIVES = (
    Alternative(
        "",
        384.0,
        0,
        255.0,
        "transcribe saturates at 1.48/s, below 2.21/s",
        kind=AlternativeKind.HOLD,
    ),
    Alternative("", 648.0, 1, 0.0, "costs 276 instance-hours more", kind=AlternativeKind.STATIC),
    Alternative("", 318.0, 3, 90.0, "late for 90 min", kind=AlternativeKind.REACTIVE),
)
EXCUSES = (
    Excuse(plan(18), "utilisation", "transcribe", 0.997, 0.85, "it is too busy", "raise its parallelism to 22"),
    Excuse(plan(22), "catch-up seconds", "classify", 912, 600, "it drains too slowly", "raise its parallelism to 3"),
)


def _steps(source: str) -> tuple[ScheduledStep, ...]:
    day = datetime(2003, 10, 24, tzinfo=UTC)
    rows = [
        (NOW + timedelta(minutes=10), NOW + timedelta(minutes=15), day.replace(hour=7), plan(4), CURRENT, 0.02),
        (day.replace(hour=6, minute=44), day.replace(hour=7), day.replace(hour=8, minute=15), plan(14), plan(4), 1.35),
        (
            day.replace(hour=7, minute=58),
            day.replace(hour=8, minute=15),
            day.replace(hour=12, minute=30),
            plan(22, 3),
            plan(14),
            2.21,
        ),
        (
            day.replace(hour=12, minute=35),
            day.replace(hour=12, minute=45),
            END,
            plan(12),
            plan(22, 3),
            1.24,
        ),
    ]
    reasons = (
        "nothing arrives at night; 8 instances are given back",
        "the doors open at 07:00",
        "the late-morning peak; one instance of classify more keeps it below 85 %",
        "the peak has passed and the backlog is gone",
    )
    return tuple(
        ScheduledStep(
            deploy_at=deploy_at,
            in_place_at=deploy_at + timedelta(minutes=4, seconds=10),
            needed_from=needed_from,
            needed_until=needed_until,
            plan=then,
            replaces=before,
            load_per_s={source: load_per_s},
            bottleneck="transcribe",
            utilisation=estimate(then, load_per_s).utilisation,
            headroom_factor=estimate(then, load_per_s).headroom_factor,
            downtime_s=30,
            catch_up_s=0 if load_per_s < 0.1 else 145,
            cost_instance_hours=then.instances * (needed_until - needed_from).total_seconds() / 3600,
            recorded=why,
        )
        for (deploy_at, needed_from, needed_until, then, before, load_per_s), why in zip(rows, reasons, strict=True)
    )


def _capacity(steps: tuple[ScheduledStep, ...], source: str) -> tuple[CapacityStep, ...]:
    plans = [CURRENT, *(step.plan for step in steps)]
    edges = [NOW, *(step.deploy_at for step in steps), END]
    found = []
    for of, start, end in zip(plans, edges, edges[1:], strict=False):
        mst_per_s = estimate(of, 1.0).mst_per_s[SOURCE]
        found.append(CapacityStep(start, end, of, {source: mst_per_s}, {source: MAX_UTILISATION * mst_per_s}))
    return tuple(found)


def schedule(steps: tuple[ScheduledStep, ...], why: str = WHY) -> ScalingSchedule:
    return ScalingSchedule(
        topology=TOPOLOGY,
        made_at=NOW,
        start=NOW,
        end=END,
        quantile=0.95,
        current=CURRENT,
        steps=steps,
        cost_instance_hours=372.0 if steps else 384.0,
        recorded=why,
        alternatives=ALTERNATIVES if steps else (),
        excuses=EXCUSES if steps else (),
        basis=DecisionBasis(topology_digest="0f343b0931126a20", starts_from=CURRENT.plan_id),
    )


def profiles() -> dict[str, OperatorProfile]:
    return {
        name: OperatorProfile(
            name,
            service_s,
            {STREAMS[name]: 1.0} if name in STREAMS else {},
            service_s_error=0.0 if name == "count" else 0.02 * service_s,
            samples=0 if name == "count" else 240,
        )
        for name, service_s in SERVICE_S.items()
    }


def declared() -> dict[str, OperatorProfile]:
    services_s = {"ingest": 0.005, "transcribe": 8.0, "classify": 0.25, "count": 0.01}
    return {name: OperatorProfile(name, service_s) for name, service_s in services_s.items()}


def sample_decision(source: str = SOURCE) -> DecisionReport:
    """Four rescales, ready for review."""
    steps = _steps(source)
    return DecisionReport(
        schedule_id="s-5d41402abc4b",
        schedule=schedule(steps),
        history=history(source),
        forecasts={source: forecast(source)},
        capacity=_capacity(steps, source),
        profiles=profiles(),
        max_utilisation=MAX_UTILISATION,
        max_lag_s=180,
        now_estimate=estimate(CURRENT, 2.21, source),
        step_estimates={
            index: estimate(step.plan, step.load_per_s[source], source) for index, step in enumerate(steps)
        },
        declared=declared(),
        links={source: "http://127.0.0.1:5000/#/experiments/1/runs/4be1c0ffee5d4a7e9b60c2c1a7f3d9e8"},
        states={0: "approved"},
    )


def hold_decision() -> DecisionReport:
    """Nothing to change: the current plan carries what is forecast."""
    return DecisionReport(
        schedule_id="s-7d793037a076",
        schedule=schedule((), "the current plan can use 1.26/s and no more than 0.97/s is planned for"),
        history=history(),
        forecasts={SOURCE: forecast(scale=0.44)},
        capacity=_capacity((), SOURCE),
        profiles=profiles(),
        max_utilisation=MAX_UTILISATION,
        max_lag_s=180,
        now_estimate=estimate(CURRENT, 0.97),
        declared=declared(),
    )


def outcome() -> DecisionOutcome:
    """The day after: step 2 took longer than expected, which cost four minutes above the allowed lag."""
    lag_s = np.full(24 * 60, 2.0)
    lag_s[555:560] = [90.0, 190.0, 240.0, 220.0, 181.0]
    lag_s[100:110] = np.nan
    return DecisionOutcome(
        arrivals=ArrivalHistory(TOPOLOGY, {SOURCE: series(NOW, END, np.random.default_rng(11))}),
        lag=LagRecord(NOW, 60, lag_s),
        steps={
            0: Outcome("0", NOW + timedelta(minutes=11), 24.0),
            1: Outcome("1", NOW + timedelta(hours=9, minutes=20), 71.0, measured={"catch_up_at_least_s": 600.0}),
            2: Outcome("2", NOW + timedelta(hours=10, minutes=31), 25.0, measured={"catch_up_s": 95.0}),
        },
    )
