from dataclasses import dataclass
from datetime import UTC, datetime

from planner.codec import Codec
from planner.errors import PlanError
from planner.provenance import Ground, Origin, Provenance, Quantity, placeholders

MEASURED = Ground(
    Quantity.SERVICE_TIME,
    Provenance(Origin.MEASURED, "calibration", datetime(2026, 3, 2, 13, 31, tzinfo=UTC), 6, (0.017, 0.019)),
    ("join",),
)
DECLARED = Ground(Quantity.SERVICE_TIME, Provenance(Origin.DECLARED, "words.yaml"), ("split",))
ASSUMED = Ground(Quantity.CORES, Provenance(Origin.ASSUMED))


@dataclass(frozen=True)
class Answer:
    stands_on: tuple[Ground, ...]


def test_grounds__are_the_same_after_they_were_stored() -> None:
    codec = Codec(Answer, 1, PlanError, "the answer", "ask again")
    answer = Answer((MEASURED, DECLARED, ASSUMED))
    assert codec.from_json(codec.to_json(answer)) == answer


def test_placeholders__are_assumed_quantities_and_service_times_that_nobody_measured() -> None:
    stated = Ground(Quantity.CORES, Provenance(Origin.DECLARED, "site.yaml"))
    assert placeholders([MEASURED, DECLARED, ASSUMED, stated]) == (DECLARED, ASSUMED)
