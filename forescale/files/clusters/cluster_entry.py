"""Fields and checks common to all kinds of the section `cluster`."""

from collections.abc import Collection, Mapping
from typing import ClassVar

from pydantic import BaseModel, ConfigDict

from forescale.plain_numbers import PlainNumbers


class ClusterEntry(PlainNumbers, BaseModel):
    """kind: the word in the file; each kind narrows it to a literal. counts_tuples: whether the cluster reports tuple
    counts of its operators, which the guard needs. starts_cold: whether a change of plan starts the whole job anew, in
    processes that need a while until they are at full speed.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: str
    counts_tuples: ClassVar[bool] = True
    starts_cold: ClassVar[bool] = True

    def operators_named(self) -> Mapping[str, Collection[str]]:
        """The operators that the section names, by field; all must belong to the topology."""
        return {}

    def check_operators(self, operators: Collection[str]) -> None:
        """Raises ValueError if the section lacks something for an operator of the topology."""

    def check_mode(self, mode: str, guard_mode: str) -> None:
        """Raises ValueError if plans of this planning.mode, or actions of a guard of this mode, can never be
        deployed.
        """
