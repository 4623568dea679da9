"""What the model predicted for a plan, what the cluster did, and the error."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

import numpy as np
from cases import CASES, Case
from pydantic import TypeAdapter
from rescales import Rescale
from simulated import simulated_p95_s

from modeling.arrays import Floats
from modeling.evaluate import evaluate
from modeling.flow.plan_rates import plan_flows, rates_of
from modeling.inputs.operator_profile import OperatorProfile, Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.latency.distribution import stations

AS_BUSY = 1e-6
"""Instances whose predicted utilisation is this close to the largest count as equally busy."""


@dataclass(frozen=True)
class Predicted:
    """mst_per_s: of the driver, at the mix of the sources. The other fields are at the offered load: utilisation of
    each operator's busiest instances (busiest names them), and seconds of end-to-end latency.
    """

    mst_per_s: float
    bottleneck: str
    utilisation: Mapping[str, float]
    busiest: Mapping[str, tuple[int, ...]]
    mean_s: float
    p95_s: float


@dataclass(frozen=True)
class Measured:
    """throughput_per_s (by source) and bottleneck: under far too much load. The other fields: at the predicted load.
    utilisation: mean of the instances that were predicted to be the busiest. p95_range_s: 95 % interval of the p95, by
    tenths of the span.
    """

    throughput_per_s: Mapping[str, float]
    bottleneck: str
    utilisation: Mapping[str, float]
    mean_s: float
    p95_s: float
    p95_range_s: tuple[float, float]
    items: int


@dataclass(frozen=True)
class Found:
    """One operator: mean service time of all its inputs (at the mix of the sources), its squared coefficient of
    variation, and its tuples out on each stream per tuple in; the last two if inputs were measured separately.
    """

    service_s: float
    service_cv2: float
    selectivity: Mapping[str, float]
    stream_service_s: Mapping[str, float] = field(default_factory=dict)
    input_selectivity: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Calibration:
    """By operator, what was found and what is true."""

    topology: str
    found: Mapping[str, Found]
    true: Mapping[str, Found]

    def profiles(self, case: Case) -> dict[str, OperatorProfile]:
        """What was found, as input of the model."""
        return {
            name: replace(profile, **vars(self.found[name])) for name, profile in case.job.declared_profiles().items()
        }


def calibration(case: Case, profiles: Profiles) -> Calibration:
    """These profiles beside the case's true values."""
    truth = case.job.true_profiles()
    flows = plan_flows(case.topology, truth, case.calibrated_at, case.load_per_s(1.0))
    rates, places = rates_of(flows), stations(case.topology, flows)
    return Calibration(
        topology=case.name,
        found={
            name: Found(**{each.name: getattr(profile, each.name) for each in fields(Found)})
            for name, profile in profiles.items()
        },
        true={
            name: Found(
                float(rates.busy[name].sum()) / rates.operator_per_s(name),
                float(places[name].service_cv2),
                truth[name].selectivity,
                truth[name].stream_service_s,
            )
            for name in case.topology.order
        },
    )


@dataclass(frozen=True)
class Row:
    """One run of one plan. told: predicted with calibrated profiles; known: predicted with the true service times.

    load_share: of the maximum that was predicted when it ran. load_per_s: by source. downtime_s: of the rescale to it.
    repeats: whether it ran before. simulated_p95_s: without Flink, with the true service times; 0 until simulated.
    """

    topology: str
    plan: PhysicalPlan
    load_share: float
    load_per_s: Mapping[str, float]
    told: Predicted
    known: Predicted
    measured: Measured
    driver: str
    downtime_s: float | None
    repeats: bool = False
    simulated_p95_s: float = 0.0

    @property
    def throughput_per_s(self) -> float:
        """Measured throughput of the driver."""
        return self.measured.throughput_per_s[self.driver]

    @property
    def throughput_error(self) -> float:
        return self.told.mst_per_s / self.throughput_per_s - 1

    @property
    def p95_error(self) -> float:
        return self.told.p95_s / self.measured.p95_s - 1

    @property
    def bottleneck_right(self) -> bool:
        return self.told.bottleneck == self.measured.bottleneck

    def brief(self) -> str:
        """One line for people."""
        return (
            f"{self.topology} {self.plan.brief()}: {self.throughput_per_s:.0f}/s, told {self.told.mst_per_s:.0f}/s, "
            f"bottleneck {self.measured.bottleneck}, told {self.told.bottleneck}; p95 "
            f"{1000 * self.measured.p95_s:.0f} ms, told {1000 * self.told.p95_s:.0f} ms"
        )

    def utilisation_points(self) -> tuple[str, float]:
        """The operator with the largest error of predicted utilisation, and that error in percentage points."""
        points = {name: 100 * (used - self.measured.utilisation[name]) for name, used in self.told.utilisation.items()}
        worst = max(points, key=lambda name: abs(points[name]))
        return worst, points[worst]


@dataclass(frozen=True)
class Results:
    """All results of a run of the benchmark, as written to its file."""

    calibrations: Sequence[Calibration]
    rows: Sequence[Row]
    rescales: Sequence[Rescale]

    def predicted_anew(self) -> "Results":
        """The same measurements and calibrations beside what the model predicts now, and a simulation."""
        cases = {one.topology: CASES[one.topology]() for one in self.calibrations}
        profiles = {one.topology: one.profiles(cases[one.topology]) for one in self.calibrations}
        rows = []
        for row in self.rows:
            case = cases[row.topology]
            rows.append(
                replace(
                    row,
                    told=predicted(case, profiles[case.name], row.plan, row.load_per_s),
                    known=predicted(case, case.job.true_profiles(), row.plan, row.load_per_s),
                    simulated_p95_s=simulated_p95_s(case, row.plan, row.load_per_s),
                )
            )
        return replace(self, rows=rows)


RESULTS = TypeAdapter(Results)


def predicted(case: Case, profiles: Profiles, plan: PhysicalPlan, load_per_s: Mapping[str, float]) -> Predicted:
    """The model's prediction for Poisson arrivals without a site: buffers leave at once, everything is in one place."""
    estimate = evaluate(case.topology, profiles, plan, load_per_s, percentiles=True)
    assert estimate.latency is not None
    shares = {name: each.instance_utilisation for name, each in estimate.operators.items()}
    return Predicted(
        mst_per_s=estimate.mst_per_s[case.driver],
        bottleneck=str(estimate.bottleneck),
        utilisation={name: float(each.max()) for name, each in shares.items()},
        busiest={name: tuple(np.flatnonzero(each >= each.max() - AS_BUSY).tolist()) for name, each in shares.items()},
        mean_s=estimate.latency.mean_s,
        p95_s=estimate.latency.p95_s,
    )


def quantile_range(latencies_s: Floats, share: float, parts: int = 10) -> tuple[float, float]:
    """95 % interval of a quantile, from its spread over consecutive parts of the span, which keep the dependence.

    latencies_s: in the order of due times.
    """
    each = [float(np.quantile(part, share)) for part in np.array_split(latencies_s, parts) if part.size]
    middle = float(np.quantile(latencies_s, share))
    half = 2.26 * float(np.std(each, ddof=1)) / len(each) ** 0.5  # Student's t of 9 degrees of freedom
    return middle - half, middle + half


def spread_between(rows: Sequence[Row], of: Callable[[Row], float]) -> list[float]:
    """Relative differences of repeated runs from the first run of the same plan."""
    first = {(row.topology, row.plan.plan_id): of(row) for row in rows if not row.repeats}
    return [of(row) / first[row.topology, row.plan.plan_id] - 1 for row in rows if row.repeats]
