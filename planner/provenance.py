"""Where a value that decides a number comes from: a person, a measurement, past deployments, an assumption.

A schedule stores it with the values that it stands on; words are made of it last, in cli and report.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Origin(StrEnum):
    """DECLARED: in the topology file or the site file. MEASURED: on the cluster or in the arrivals. LEARNT: from past
    deployments. ASSUMED: by default, as nobody has declared or measured it. GIVEN: by an option of this one command.
    """

    DECLARED = "declared"
    MEASURED = "measured"
    LEARNT = "learnt"
    ASSUMED = "assumed"
    GIVEN = "given"


class Quantity(StrEnum):
    """A quantity that decides numbers of a plan."""

    SERVICE_TIME = "service_time"
    SPREAD = "spread"
    SELECTIVITY = "selectivity"
    KEYS = "keys"
    STATE = "state"
    TASKS = "tasks"
    CONTAINERS = "containers"
    NODES = "nodes"
    CORES = "cores"
    IDLE_CORES = "idle_cores"
    MEMORY = "memory"
    LINKS = "links"
    BUFFERS = "buffers"
    PRICES = "prices"
    DOWNTIME = "downtime"
    RESTORE = "restore"
    LEAD = "lead"
    WARM_UP = "warm_up"
    LOAD = "load"
    VARIATION = "variation"
    LIMITS = "limits"
    FREEZES = "freezes"
    EVENTS = "events"
    BUDGET = "budget"


@dataclass(frozen=True)
class Provenance:
    """place: a file, an option, a command or a record; of an assumption, what would measure the value, if anything
    does. at: of the measurement, with its time zone. samples: number of measurements, deployments or days behind it,
    0 if nobody measured; of a declared value, how often somebody measured without finding it. interval: 95 % interval
    of the value.
    """

    origin: Origin
    place: str = ""
    at: datetime | None = None
    samples: int = 0
    interval: tuple[float, float] | None = None


CALIBRATION = "calibration"
TOPOLOGY_FILE = Provenance(Origin.DECLARED, "topology file")
ASSUMED = Provenance(Origin.ASSUMED)
UNCALIBRATED = Provenance(Origin.ASSUMED, CALIBRATION)
"""Assumed until calibration measures it."""


@dataclass(frozen=True)
class Ground:
    """One quantity that an answer stands on. of: the operators, streams or sources that it is of, empty for the whole
    topology.
    """

    quantity: Quantity
    provenance: Provenance
    of: tuple[str, ...] = ()


def placeholders(grounds: Iterable[Ground]) -> tuple[Ground, ...]:
    """Quantities without a measurement behind them, those that calibration would measure first: service times that only
    the file declares, which stand in until then, and all that is assumed.
    """
    timed, others = list[Ground](), list[Ground]()
    for each in grounds:
        if each.provenance.origin is Origin.DECLARED and each.quantity is Quantity.SERVICE_TIME:
            timed.append(each)
        elif each.provenance.origin is Origin.ASSUMED:
            others.append(each)
    return (*timed, *others)
