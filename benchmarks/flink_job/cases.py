"""The three topologies, each with the plan that calibrates it and the unseen plans that the model has to predict."""

from collections.abc import Mapping
from dataclasses import dataclass

from forescale.local.demo.modeled_job import ModeledJob
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Grouping, Operator, Stream, Topology


@dataclass(frozen=True)
class Case:
    """mix: load of each source per item of the driver, the source that is overloaded to find the maximum; the others
    then get their part of the predicted maximum. calibration_per_s: load of the driver. unseen: plans to predict.
    """

    job: ModeledJob
    driver: str
    mix: Mapping[str, float]
    calibrated_at: PhysicalPlan
    calibration_per_s: float
    unseen: tuple[PhysicalPlan, ...]

    @property
    def name(self) -> str:
        return self.job.name

    @property
    def topology(self) -> Topology:
        return self.job.topology

    def load_per_s(self, driver_per_s: float) -> dict[str, float]:
        """Load of all sources at their mix."""
        return {source: part * driver_per_s for source, part in self.mix.items()}

    def overload_per_s(self, mst_per_s: float) -> dict[str, float]:
        """Far too much load at the driver; at the others their part of the predicted maximum mst_per_s."""
        return {**self.load_per_s(mst_per_s), self.driver: 3 * mst_per_s}


def _plans(topology: Topology, *counts: tuple[int, ...]) -> tuple[PhysicalPlan, ...]:
    names = [operator.name for operator in topology.operators]
    return tuple(PhysicalPlan(topology.name, dict(zip(names, each, strict=True))) for each in counts)


def _topology(name: str, operators: str, streams: str, *, keyed: str = "") -> Topology:
    """streams: `from->to` each. keyed: the operator whose inputs are routed by key; all other inputs are shuffled."""
    ends = (each.split("->") for each in streams.split())
    edges = (Stream(a, b, Grouping.FIELDS if b == keyed else Grouping.SHUFFLE) for a, b in ends)
    return Topology(name, tuple(map(Operator, operators.split())), tuple(edges))


def _source(name: str, stream: str) -> OperatorProfile:
    return OperatorProfile(name, 0.0, {stream: 1.0}, service_cv2=0.0)


def chain() -> Case:
    """Four operators in a row, shuffled between all of them."""
    topology = _topology("chain", "arrivals parse enrich store", "arrivals->parse parse->enrich enrich->store")
    truth = {
        "arrivals": _source("arrivals", "arrivals->parse"),
        "parse": OperatorProfile("parse", 0.0045, {"parse->enrich": 1.0}, service_cv2=1.0),
        "enrich": OperatorProfile("enrich", 0.010, {"enrich->store": 1.0}, service_cv2=0.5),
        "store": OperatorProfile("store", 0.004, service_cv2=0.5),
    }
    counts = [(1, 1, 3, 1), (1, 2, 3, 2), (1, 3, 5, 1), (1, 2, 6, 3), (1, 4, 6, 4), (1, 4, 9, 3), (2, 3, 5, 3)]
    unseen = _plans(topology, *counts, (2, 2, 7, 2), (1, 1, 1, 1))
    (calibrated_at,) = _plans(topology, (1, 2, 4, 2))
    return Case(ModeledJob(topology, truth), "arrivals", {"arrivals": 1.0}, calibrated_at, 240.0, unseen)


def diamond() -> Case:
    """Two sources, one split into two arms; all three ways meet at a keyed operator, each with its own service time."""
    topology = _topology(
        "diamond",
        "orders clicks validate price risk settle",
        "orders->validate validate->price validate->risk price->settle risk->settle clicks->settle",
        keyed="settle",
    )
    settled_s = {"price->settle": 0.006, "risk->settle": 0.003, "clicks->settle": 0.009}
    truth = {
        "orders": _source("orders", "orders->validate"),
        "clicks": _source("clicks", "clicks->settle"),
        "validate": OperatorProfile(
            "validate", 0.004, {"validate->price": 0.6, "validate->risk": 0.5}, service_cv2=1.0
        ),
        "price": OperatorProfile("price", 0.012, {"price->settle": 1.0}, service_cv2=0.5),
        "risk": OperatorProfile("risk", 0.010, {"risk->settle": 1.0}, service_cv2=1.0),
        "settle": OperatorProfile("settle", 0.006, service_cv2=0.5, stream_service_s=settled_s),
    }
    counts = [(1, 1, 1, 3, 2, 4), (1, 1, 2, 4, 2, 3), (1, 1, 2, 1, 1, 2), (1, 1, 2, 3, 3, 2), (1, 1, 3, 5, 3, 5)]
    unseen = _plans(topology, *counts, (1, 1, 2, 4, 3, 1), (1, 1, 3, 4, 4, 4), (1, 1, 2, 5, 4, 4), (2, 1, 3, 6, 4, 4))
    (calibrated_at,) = _plans(topology, (1, 1, 2, 2, 2, 3))
    job = ModeledJob(topology, truth, keys=10_000)
    # Few clicks: a full operator reads its channels in turn, so a source with only one channel would be held back once
    # it offered more than its turn.
    return Case(job, "orders", {"orders": 1.0, "clicks": 0.1}, calibrated_at, 165.0, unseen)


def skew() -> Case:
    """Each item becomes two, counted by keys of Zipf's law; half are passed on. The hottest instance decides."""
    topology = _topology("skew", "lines split count alert", "lines->split split->count count->alert", keyed="count")
    truth = {
        "lines": _source("lines", "lines->split"),
        "split": OperatorProfile("split", 0.004, {"split->count": 2.0}, service_cv2=1.0),
        "count": OperatorProfile("count", 0.005, {"count->alert": 0.5}, service_cv2=0.5),
        "alert": OperatorProfile("alert", 0.008, service_cv2=0.5),
    }
    counts = [(1, 1, 5, 4), (1, 2, 2, 3), (1, 2, 6, 2), (1, 2, 8, 5), (1, 3, 10, 6), (1, 2, 8, 3), (1, 1, 6, 3)]
    unseen = _plans(topology, *counts, (1, 2, 1, 1), (2, 3, 12, 4))
    (calibrated_at,) = _plans(topology, (1, 2, 4, 4))
    job = ModeledJob(topology, truth, keys=1000, skew=1.0)
    return Case(job, "lines", {"lines": 1.0}, calibrated_at, 175.0, unseen)


CASES = {"chain": chain, "diamond": diamond, "skew": skew}


def state_job(mib: float) -> ModeledJob:
    """A job with so much keyed state and little work, to measure its rescales."""
    name = f"state-{mib:g}"
    topology = _topology(name, "arrivals hold", "arrivals->hold", keyed="hold")
    truth = {"arrivals": _source("arrivals", "arrivals->hold"), "hold": OperatorProfile("hold", 0.001)}
    return ModeledJob(topology, truth, keys=256, state_mib={"hold": mib}, checkpoint_interval_s=2.0)
