"""A change of several objects that is refused half-way: what is put back, what is left to others, what is named."""

import re
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from engines.kubernetes.resources import DEPLOYMENT, Resource
from engines.kubernetes.server import FIELD_MANAGER, Answer, KubernetesServer, RequestRefusedError
from planner.clusters.kubernetes_fields import PlannedField, PlannedFields
from planner.errors import ClusterError

BEFORE, WANTED = dict.fromkeys("abcd", 2), dict.fromkeys("abcd", 5)


class Server:
    """Four Deployments of 2 replicas. Changing d is refused, once others have scaled meanwhile.

    scaled: by whom and to what, per object; stuck: those of which nothing is put back.
    """

    place = "the API server"

    def __init__(self, scaled: dict[str, tuple[str, int]], stuck: str = "") -> None:
        self.told = dict.fromkeys("abcd", ("kubectl", 2))
        self.scaled, self.stuck = scaled, stuck

    def failure(self, message: str) -> ClusterError:
        return ClusterError(message)

    def get(self, resource: Resource, name: str) -> Answer:
        manager, count = self.told[name]
        entry = {"manager": manager, "time": "2026-01-05T08:00:00Z", "fieldsV1": {"f:spec": {"f:replicas": {}}}}
        body = {"metadata": {"resourceVersion": "1", "managedFields": [entry]}, "spec": {"replicas": count}}
        return Answer(body, datetime(2026, 1, 5, 8, tzinfo=UTC))

    def apply(self, resource: Resource, name: str, fields: dict[str, Any], *, dry_run: bool, **asked: object) -> Answer:
        count = fields["spec"]["replicas"]
        if not dry_run and name == "d":
            self.told |= self.scaled
            raise RequestRefusedError("the webhook says no")
        if not dry_run and name in self.stuck and count == 2:
            raise RequestRefusedError("not twice")
        if not dry_run:
            self.told[name] = FIELD_MANAGER, count
        return self.get(resource, name)

    @property
    def counts(self) -> list[int]:
        return [count for _, count in self.told.values()]


def fields_of(server: Server) -> PlannedFields:
    fields = {name: PlannedField(DEPLOYMENT, name, "replicas", 1, scale=True) for name in BEFORE}
    return PlannedFields(cast(KubernetesServer, server), fields)


def test_a_change_refused_half_way__is_put_back_but_for_what_others_set_meanwhile() -> None:
    # a is ours and goes back to 2; somebody made b 9, and somebody else set c to 5 as well.
    server = Server({"b": ("anna", 9), "c": ("hpa", 5)})
    with pytest.raises(RequestRefusedError, match="the webhook says no"):
        fields_of(server).change(WANTED, BEFORE)
    assert server.counts == [2, 9, 5, 2]


def test_what_cannot_be_put_back__is_named_and_stops_nothing() -> None:
    server = Server({}, stuck="ab")
    said = (
        "the API server: the webhook says no; and could not put back deployment/a, which had replicas 2: not twice; "
        "deployment/b, which had replicas 2: not twice; set that by hand"
    )
    with pytest.raises(ClusterError, match=re.escape(said)):
        fields_of(server).change(WANTED, BEFORE)
    assert server.counts == [5, 5, 2, 2]
