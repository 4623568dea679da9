"""What the client of an API server says of objects that are not there."""

import pytest
from json_stand_in import json_stand_in
from kubernetes.client import ApiClient, Configuration

from engines.kubernetes.resources import DEPLOYMENT, FLINK_DEPLOYMENT, Resource
from engines.kubernetes.server import KubernetesServer, RequestRefusedError
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
