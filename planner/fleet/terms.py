"""What topologies share: quotas of instances, and how far apart their large rescales stay."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Quota:
    """instances: that its topologies may hold together at any moment."""

    name: str
    topologies: frozenset[str]
    instances: int


@dataclass(frozen=True)
class Stagger:
    """Rescales that start so many instances or more are apart_s from each other, where they are of two topologies."""

    large_instances: int
    apart_s: float


@dataclass(frozen=True)
class FleetTerms:
    """A topology may be in several quotas, or in none."""

    quotas: tuple[Quota, ...] = ()
    stagger: Stagger | None = None
