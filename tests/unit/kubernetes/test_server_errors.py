"""What the client of an API server says of objects that are not there."""

from datetime import UTC, datetime, timedelta

import pytest
from json_stand_in import json_stand_in
from kubernetes.client import ApiClient, Configuration

from engines.kubernetes.resources import DEPLOYMENT, FLINK_DEPLOYMENT, Resource
from engines.kubernetes.server import KubernetesServer, RequestRefusedError, _date
from planner.errors import ClusterError


@pytest.mark.parametrize(
    ("resource", "field"), [(DEPLOYMENT, "cluster.operators"), (FLINK_DEPLOYMENT, "cluster.deployment")]
)
def test_get__of_an_object_that_is_not_there_names_the_field_that_names_it(resource: Resource, field: str) -> None:
    with json_stand_in() as stand_in:  # which has nothing
        client = ApiClient(Configuration(host=stand_in.url))
        server = KubernetesServer("shop", ClusterError, client=client)
        with pytest.raises(RequestRefusedError, match=rf"has no {resource.short}/words .* correct its name in {field}"):
            server.get(resource, "words")


@pytest.mark.parametrize("status", [401, 403, 409, 410, 422, 500])
@pytest.mark.parametrize(
    "body",
    ['{"message": {"a": 1}, "details": "x"}', '{"message": [[]], "details": {"causes": 7}}', '{"details": [1]}', "[1]"],
)
def test_an_error_of_another_shape__is_named_with_its_status(status: int, body: str) -> None:
    with json_stand_in() as stand_in:
        path = "/apis/apps/v1/namespaces/shop/deployments/words"
        stand_in.answers[path], stand_in.statuses[path] = body, status
        server = KubernetesServer("shop", ClusterError, client=ApiClient(Configuration(host=stand_in.url)))
        with pytest.raises((ClusterError, RequestRefusedError), match=r"deployment/words|HTTP 401"):
            server.get(DEPLOYMENT, "words")


def test_a_date_beyond_the_calendar__is_taken_for_none() -> None:
    now = datetime.now(UTC)
    assert abs(_date({"Date": "Fri, 31 Dec 9999 23:59:59 -1200"}) - now) < timedelta(minutes=1)
