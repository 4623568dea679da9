"""The numbers that a plan sets in Kubernetes objects, one per operator, changed together by compare-and-set.

Every object is applied at the version that was read, under our own field manager. Several objects cannot change in one
transaction: all changes are tried as a dry run first, and those already made are put back if a later one is refused. A
change that a killed process left half-done is continued: numbers that are ours already count as requested.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from engines.kubernetes.ownership import field_managers
from engines.kubernetes.resources import Resource
from engines.kubernetes.server import FIELD_MANAGER, Answer, KubernetesServer, RequestRefusedError

ATTEMPTS = 5
"""Status updates also change an object's version; it is then read again and the number compared again."""


@dataclass(frozen=True)
class PlannedField:
    """The number at spec.NAME of an object. absent: its value if the object does not set it. least: smaller numbers
    count as this. scale: change it through the subresource `scale`, which needs no other right to change the object.
    """

    resource: Resource
    object_name: str
    name: str
    absent: int
    least: int = 0
    scale: bool = False

    @property
    def where(self) -> str:
        return f"{self.resource.short}/{self.object_name}"


@dataclass(frozen=True)
class SeenField:
    """A field as read. managers: who wrote it, latest first."""

    field: PlannedField
    answer: Answer
    count: int
    managers: tuple[str, ...]

    @property
    def said(self) -> str:
        by = f", set by {self.managers[0]}" if self.managers else ""
        return f"{self.field.where} has {self.field.name} {self.count}{by}"


def seen_field(field: PlannedField, answer: Answer) -> SeenField:
    value = (answer.body.get("spec") or {}).get(field.name)
    count = max(field.least, field.absent if value is None else int(value))
    return SeenField(field, answer, count, field_managers(answer.body, ("spec", field.name)))


def applied(
    server: KubernetesServer,
    resource: Resource,
    name: str,
    spec: Mapping[str, Any],
    *,
    version: str,
    take_over: frozenset[str],
    scale: bool = False,
    dry_run: bool = False,
    manager: str = FIELD_MANAGER,
) -> Answer:
    """Own and set fields of the spec. Raises RequestRefusedError with the managers that own them already.

    take_over: managers whose fields may become ours.
    """
    apply = partial(
        server.apply, resource, name, {"spec": spec}, version=version, scale=scale, dry_run=dry_run, manager=manager
    )
    try:
        return apply()
    except RequestRefusedError as refused:
        if not refused.managers:
            raise
        others = sorted(set(refused.managers) - take_over)
        if others:
            raise RequestRefusedError(
                f"{resource.short}/{name}: {' and '.join(map(repr, others))} set{'s' * (len(others) == 1)} what the "
                f"plan would ({refused}); leave the field out of what {others[0]!r} applies, or name it in "
                "cluster.take_over. An autoscaler keeps its say with planning.mode: floor",
                managers=refused.managers,
            ) from None
    return apply(take_over=True)


def until_fresh(change: Callable[[], None]) -> None:
    """Retry a change while objects are written between its look and its request. Raises RequestRefusedError."""
    for _ in range(ATTEMPTS):
        try:
            return change()
        except RequestRefusedError as refused:
            if not refused.stale:
                raise
    raise RequestRefusedError("the objects change more often than they can be read; try again")


class PlannedFields:
    """fields: per operator. take_over: managers whose fields may become ours."""

    def __init__(
        self, server: KubernetesServer, fields: Mapping[str, PlannedField], take_over: frozenset[str] = frozenset()
    ) -> None:
        self._server, self._fields, self._take_over = server, dict(fields), take_over

    def look(self) -> Mapping[str, SeenField]:
        """Raises RequestRefusedError if an object is missing or may not be read."""
        return {
            name: seen_field(field, self._server.get(field.resource, field.object_name))
            for name, field in self._fields.items()
        }

    def change(self, wanted: Mapping[str, int], expected: Mapping[str, int], *, undoing: bool = False) -> datetime:
        """Set the numbers if they are the expected ones, or partly the wanted ones already. Returns the time of the
        change.

        undoing: wanted numbers may have been set by anybody, as the change to undo may not have reached them. Raises
        RequestRefusedError if nothing has changed or everything is put back, and the server's failure if it cannot be
        reached, possibly half-way: the same call continues from there.
        """
        before: dict[str, int] = {}
        try:
            for _ in range(ATTEMPTS):
                seen = self.look()
                self._check(seen, wanted, expected, undoing=undoing)
                if (at := self._written(seen, wanted, before)) is not None:
                    return at
            raise RequestRefusedError("the objects change more often than they can be read; try again")
        except RequestRefusedError as refused:
            self._put_back(before, wanted, refused)
            raise

    def try_change(self, wanted: Mapping[str, int]) -> None:
        """Dry-run these numbers, which checks rights and other managers and changes nothing.

        Raises RequestRefusedError.
        """

        def tried() -> None:
            for _, one, count in self._differing(self.look(), wanted):
                self._write(one, count, dry_run=True)

        until_fresh(tried)

    def _written(
        self, seen: Mapping[str, SeenField], wanted: Mapping[str, int], before: dict[str, int]
    ) -> datetime | None:
        """When all numbers are as wanted; None if somebody else wrote first and the objects must be read again."""
        at = max(one.answer.at for one in seen.values())
        try:
            for _, one, count in self._differing(seen, wanted):
                self._write(one, count, dry_run=True)
            for name, one, count in self._differing(seen, wanted):
                at = self._write(one, count).at
                before.setdefault(name, one.count)
        except RequestRefusedError as refused:
            if refused.stale:
                return None
            raise
        return at

    @staticmethod
    def _differing(seen: Mapping[str, SeenField], wanted: Mapping[str, int]) -> Iterator[tuple[str, SeenField, int]]:
        return ((name, one, wanted[name]) for name, one in seen.items() if one.count != wanted[name])

    def _write(self, one: SeenField, count: int, *, dry_run: bool = False) -> Answer:
        field = one.field
        return applied(
            self._server,
            field.resource,
            field.object_name,
            {field.name: count},
            version=one.answer.version,
            take_over=self._take_over,
            scale=field.scale,
            dry_run=dry_run,
        )

    @staticmethod
    def _check(
        seen: Mapping[str, SeenField], wanted: Mapping[str, int], expected: Mapping[str, int], *, undoing: bool
    ) -> None:
        if all(one.count == wanted[name] for name, one in seen.items()):
            return
        there = {
            name: one
            for name, one in seen.items()
            if one.count == wanted[name] and (undoing or FIELD_MANAGER in one.managers)
        }
        for name, one in seen.items():
            if one.count != expected[name] and name not in there:
                half = [f"{each.said}, as planned" for at, each in there.items() if each.count != expected[at]]
                differences = "; ".join([f"{one.said}, not {expected[name]} as was assumed", *half])
                raise RequestRefusedError(f"{differences}; make the decision again from what runs")

    def _put_back(self, before: Mapping[str, int], wanted: Mapping[str, int], refused: RequestRefusedError) -> None:
        """Put back the completed part of a change that was refused half-way, unless somebody has changed it since."""
        left = list[str]()
        for name, count in before.items():
            field = self._fields[name]
            try:
                self._put_one_back(field, count, wanted[name])
            except RequestRefusedError as again:
                left.append(f"{field.where}, which had {field.name} {count}: {again}")
        if left:
            raise self._server.failure(
                f"{self._server.place}: {refused}; and could not put back {'; '.join(left)}; set that by hand"
            ) from None

    def _put_one_back(self, field: PlannedField, count: int, wanted: int) -> None:
        for _ in range(ATTEMPTS):
            seen = seen_field(field, self._server.get(field.resource, field.object_name))
            if seen.count != wanted or seen.managers[:1] != (FIELD_MANAGER,):
                return  # somebody else has changed it since
            try:
                self._write(seen, count)
            except RequestRefusedError as refused:
                if not refused.stale:
                    raise
            else:
                return
        raise RequestRefusedError("it changes more often than it can be read")
