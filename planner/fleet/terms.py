"""What topologies share: quotas of instances, and the minimum distance of large rescales."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Quota:
    """instances: most that its topologies may hold together at any moment."""

    name: str
    topologies: frozenset[str]
    instances: int


@dataclass(frozen=True)
class Stagger:
    """Rescales of different topologies that start at least large_instances are at least apart_s apart."""

    large_instances: int
    apart_s: float


@dataclass(frozen=True)
class FleetTerms:
    """A topology may be in several quotas, or in none."""

    quotas: tuple[Quota, ...] = ()
    stagger: Stagger | None = None
