"""Where a browser comes back to once it has signed in."""

import pytest
from fastapi import Request

from forescale.web.app import asked_address


@pytest.mark.parametrize(
    ("path", "query", "address"),
    [
        ("/scaling/", b"", "/scaling/"),
        ("/scaling/topologies/a/forecasts", b"source=b%26c", "/scaling/topologies/a/forecasts?source=b%26c"),
        ("/airflow/scaling/topologies/ä?b", b"", "/airflow/scaling/topologies/%C3%A4%3Fb"),
        ("//evil.example/scaling/", b"", "/evil.example/scaling/"),
        ("/\\evil.example/", b"", "/evil.example/"),
        ("/scaling/", b"next=//evil.example", "/scaling/?next=//evil.example"),
    ],
)
def test_address_asked_for__is_the_whole_one_and_of_this_host(path: str, query: bytes, address: str) -> None:
    scope = {"type": "http", "path": path, "query_string": query, "headers": [(b"host", b"evil.example")]}
    assert asked_address(Request(scope)) == address
