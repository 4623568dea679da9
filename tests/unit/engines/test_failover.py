"""Several addresses of one server: which of them a request comes to."""

import socket
from collections.abc import Callable

import httpx
import pytest
from json_stand_in import json_stand_in
from pydantic import SecretStr

from engines.http import JsonServer

ADDRESSES = ("http://a:8081/flink", "http://b:8081", "http://c:8081/jm")
ELECTION = {"errors": ["Service temporarily unavailable due to an ongoing leader election. Please refresh."]}

Answer = Callable[[httpx.Request], httpx.Response]


class TroubleError(Exception):
    pass


def gone(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("Connection refused", request=request)


def silent(request: httpx.Request) -> httpx.Response:
    raise httpx.ReadTimeout("too slow", request=request)


def leads(_: httpx.Request) -> httpx.Response:
    return httpx.Response(200, json={"leader": True})


def redirects(_: httpx.Request) -> httpx.Response:
    return httpx.Response(307, headers={"Location": "http://elsewhere:8081/x"})


def elects(_: httpx.Request) -> httpx.Response:
    return httpx.Response(503, json=ELECTION)


class Hosts:
    """What the hosts a, b and c answer, and what they were asked."""

    def __init__(self, **answers: Answer) -> None:
        self.answers, self.asked = answers, list[httpx.Request]()

    def server(self) -> JsonServer:
        return JsonServer(
            "Flink",
            ADDRESSES[0],
            TroubleError,
            headers={"Authorization": SecretStr("Bearer sesame")},
            standby_urls=ADDRESSES[1:],
            transport=httpx.MockTransport(self._answer),
        )

    def hosts(self) -> list[str]:
        return [request.url.host for request in self.asked]

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        return self.answers[request.url.host](request)


@pytest.mark.parametrize("trouble", [gone, redirects, elects])
def test_call__goes_on_to_the_next_address_and_stays_with_the_one_that_leads(trouble: Answer) -> None:
    hosts = Hosts(a=trouble, b=gone, c=leads)
    server = hosts.server()
    assert server.call("PUT", "/jobs/1", body={"x": 1}) == (200, {"leader": True})
    assert server.get("/jobs/2", {"get": "y"}) == (200, {"leader": True})
    assert hosts.hosts() == ["a", "b", "c", "c"]
    put, get = hosts.asked[2:]
    assert (str(put.url), put.headers["Host"], put.content) == ("http://c:8081/jm/jobs/1", "c:8081", b'{"x":1}')
    assert str(get.url) == "http://c:8081/jm/jobs/2?get=y"
    assert {request.headers["Authorization"] for request in hosts.asked} == {"Bearer sesame"}


def test_call__comes_back_to_the_first_address_once_the_leader_is_gone() -> None:
    hosts = Hosts(a=gone, b=leads, c=gone)
    server = hosts.server()
    server.get("/x")
    hosts.answers.update(a=leads, b=gone)
    assert server.get("/x") == (200, {"leader": True})
    assert hosts.hosts() == ["a", "b", "b", "c", "a"]


def test_call__that_may_have_had_an_effect_is_not_sent_to_another_address() -> None:
    hosts = Hosts(a=silent, b=leads, c=leads)
    with pytest.raises(TroubleError, match="did not answer PUT /x"):
        hosts.server().call("PUT", "/x")
    assert hosts.hosts() == ["a"]


def test_call__where_nobody_answers_names_every_address() -> None:
    with pytest.raises(TroubleError, match="a:8081/flink or http://b:8081 or http://c:8081/jm cannot be reached"):
        Hosts(a=gone, b=gone, c=gone).server().get("/x")


def test_call__that_is_redirected_by_all_never_follows() -> None:
    hosts = Hosts(a=redirects, b=redirects, c=redirects)
    with pytest.raises(TroubleError, match="HTTP 307"):
        hosts.server().get("/x")
    assert hosts.hosts() == ["a", "b", "c"]


def test_certificate__that_cannot_be_used_is_told_by_its_path() -> None:
    with pytest.raises(TroubleError, match=r"certificate_file /no/such\.pem cannot be used: No such file"):
        JsonServer("Flink", "https://a", TroubleError, certificate_file="/no/such.pem")


def test_call__over_a_real_network_comes_to_the_address_that_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        nobody = taken.getsockname()[1]
    with json_stand_in() as leader:
        leader.answers["/x"] = 7
        server = JsonServer("Flink", f"http://127.0.0.1:{nobody}", TroubleError, standby_urls=[leader.url])
        assert server.get("/x") == (200, 7)
        assert leader.headers["Host"] == leader.url.removeprefix("http://")
