"""What goes wrong between a client and its server, and what a real Prometheus rarely answers."""

import json
import os
import socket
import subprocess
from base64 import b64encode
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from json_stand_in import JsonStandIn, json_stand_in
from pydantic import SecretStr

from engines.flink.rest import FlinkRest
from engines.http import PAUSES_S, JsonServer
from forecasting.arrivals.arrival_source import Measures
from forecasting.arrivals.sources.prometheus import Prometheus
from forecasting.errors import HistoryError

NOON = datetime(2024, 3, 3, 12, tzinfo=UTC)
QUERY = "/api/v1/query"


@pytest.fixture
def stand_in() -> Iterator[JsonStandIn]:
    with json_stand_in() as running:
        yield running


def refused(stand_in: JsonStandIn, body: Any, status: int = 200) -> str:
    """What a source says when its server answers like that."""
    stand_in.answers[QUERY], stand_in.statuses[QUERY] = body, status
    source = Prometheus(stand_in.url, {"feed": "events_total"}, measures=Measures.OFFERED)
    with pytest.raises(HistoryError) as failed:
        source.read(NOON, NOON.replace(hour=13), 60)
    assert stand_in.url in str(failed.value)
    assert "\n" not in str(failed.value)
    return str(failed.value)


@pytest.mark.parametrize("status", [401, 403])
def test_get__where_a_login_is_lacking_says_so(stand_in: JsonStandIn, status: int) -> None:
    assert f"HTTP {status}; give a token" in refused(stand_in, "go away", status)


def test_get__of_a_page_for_people_says_that_it_is_no_json(stand_in: JsonStandIn) -> None:
    assert "no JSON ('<html>')" in refused(stand_in, "<html>", 502)


def test_get__where_nobody_listens_says_that_it_cannot_be_reached() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(HistoryError, match=rf"Heron at http://127.0.0.1:{port} cannot be reached: .*check the address"):
        JsonServer("Heron", f"http://127.0.0.1:{port}", HistoryError).get("/topologies")


@pytest.mark.parametrize("trouble", ["busy", "cut"])
def test_get__is_tried_again_where_the_server_is_too_busy_or_the_connection_breaks(
    stand_in: JsonStandIn, trouble: str
) -> None:
    stand_in.answers["/x"] = [7]
    getattr(stand_in, trouble)["/x"] = len(PAUSES_S)
    assert JsonServer("Storm", stand_in.url, HistoryError).get("/x") == (200, [7])
    assert len(stand_in.asked) == 1 + len(PAUSES_S)


def test_get__is_not_tried_for_ever(stand_in: JsonStandIn) -> None:
    stand_in.busy["/x"] = stand_in.cut["/y"] = 99
    server = JsonServer("Storm", stand_in.url, HistoryError)
    assert server.get("/x") == (503, {"error": "too busy"})
    with pytest.raises(HistoryError, match="cannot be reached: "):
        server.get("/y")
    assert len(stand_in.asked) == 2 * (1 + len(PAUSES_S))


@pytest.mark.parametrize("trouble", ["busy", "cut"])
def test_call__that_may_have_had_its_effect_is_made_once(stand_in: JsonStandIn, trouble: str) -> None:
    stand_in.answers["/x"] = {}
    getattr(stand_in, trouble)["/x"] = 1
    server = JsonServer("Storm", stand_in.url, HistoryError)
    if trouble == "busy":
        assert server.call("POST", "/x", body={"wait": 5}) == (503, {"error": "too busy"})
    else:
        with pytest.raises(HistoryError, match="cannot be reached: "):
            server.call("POST", "/x", body={"wait": 5})
    assert len(stand_in.asked) == 1


def test_failure__of_a_server_that_repeats_what_it_was_sent_shows_none_of_it(stand_in: JsonStandIn) -> None:
    stand_in.answers["/x"] = "unknown: Bearer t0psecret, anna:pa55%20word, pa55 word"
    url = stand_in.url.replace("//", "//anna:pa55%20word@")
    server = JsonServer("Storm", url, HistoryError, headers={"Authorization": SecretStr("Bearer t0psecret")})
    with pytest.raises(HistoryError) as failed:
        server.get("/x")
    assert "unknown: …, anna:…, …" in str(failed.value)


@pytest.mark.parametrize("before", range(0, 60, 7))
@pytest.mark.parametrize("shape", ["text", "list", "error"])
def test_failure__of_an_echoing_server_shows_no_part_of_a_login_wherever_it_is_cut(before: int, shape: str) -> None:
    token = "tok-\u00e9'" + "abcdefghij" * 3

    def echoed(request: httpx.Request) -> httpx.Response:
        said = "x" * 5 * before + " " + request.headers["Authorization"] + " " + token
        body = {"text": said, "list": json.dumps([said]), "error": json.dumps({"errors": [said]})}[shape]
        return httpx.Response(400 if shape == "error" else 200, text=body)

    url = f"http://anna:{quote(token)}@flink:8081"
    rest = FlinkRest(url, HistoryError, transport=httpx.MockTransport(echoed))
    with pytest.raises(HistoryError) as failed:
        rest.jobs()
    login = b64encode(f"anna:{token}".encode()).decode()
    assert "abcd" not in str(failed.value)
    assert login[:8] not in str(failed.value)


@pytest.mark.parametrize("value", ["Bearer sesame-open\n", "sesame-open\r\n"])
def test_header__that_cannot_be_sent_is_not_repeated(stand_in: JsonStandIn, value: str) -> None:
    server = JsonServer("Storm", stand_in.url, HistoryError, headers={"Authorization": SecretStr(value)})
    with pytest.raises(HistoryError, match="Illegal header value") as failed:
        server.get("/x")
    assert "sesame" not in str(failed.value)


@pytest.mark.parametrize("url", ["prometheus:9090", "ftp://host", "http://", "http://host:port", "http://[::1"])
def test_address__that_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(HistoryError, match="is not a URL"):
        JsonServer("Prometheus", url, HistoryError)


@pytest.mark.parametrize(
    "url", ["u:sekret@host", "http://u:sek/ret@host:1", "http://u:80/sekret@host:1", "http://u:80#sekret@host"]
)
def test_address__that_is_no_url_is_not_repeated(url: str) -> None:
    with pytest.raises(HistoryError, match="is not a URL") as failed:
        JsonServer("Prometheus", url, HistoryError)
    assert "sek" not in str(failed.value)


def test_address__with_a_path_and_a_login_is_asked_below_it_and_shown_without(stand_in: JsonStandIn) -> None:
    stand_in.answers["/metrics/x"] = {"a": 1}
    server = JsonServer("Prometheus", stand_in.url.replace("//", "//anna:secret@") + "/metrics/", HistoryError)
    assert server.get("/x") == (200, {"a": 1})
    assert server.place == f"Prometheus at {stand_in.url}/metrics"
    assert stand_in.headers["Authorization"].startswith("Basic ")


def test_headers__are_sent(stand_in: JsonStandIn) -> None:
    stand_in.answers["/api/v1/series"] = {"status": "success", "data": []}
    headers = {"X-Scope-OrgID": SecretStr("team-a"), "Authorization": SecretStr("Bearer abc")}
    source = Prometheus(stand_in.url, {"feed": "events_total"}, headers=headers)
    with pytest.raises(HistoryError, match="no sample of events_total"):
        source.first_moment()
    assert stand_in.headers["Authorization"] == "Bearer abc"
    assert stand_in.headers["X-Scope-OrgID"] == "team-a"


@pytest.mark.parametrize(
    "body",
    [
        [],
        {},
        {"status": "success"},
        {"status": "success", "data": {"resultType": "vector", "result": []}},
        {"status": "success", "data": {"resultType": "matrix", "result": [{"metric": {}, "values": [[1]]}]}},
        {"status": "success", "data": {"resultType": "matrix", "result": [{"metric": {}}]}},
        {"status": "success", "data": {"resultType": "matrix", "result": 7}},
    ],
)
def test_answer__of_another_shape_is_refused(stand_in: JsonStandIn, body: Any) -> None:
    assert "in a shape that is not documented" in refused(stand_in, body)


def matrix(*points: tuple[float, str]) -> dict[str, Any]:
    return {"resultType": "matrix", "result": [{"metric": {"pod": "a"}, "values": points}]}


def test_answer__in_part_is_refused_since_what_is_lacking_is_not_zero(stand_in: JsonStandIn) -> None:
    body = {"status": "success", "data": matrix(), "warnings": ["store 10.0.0.7 did not answer"]}
    assert "only in part: store 10.0.0.7 did not answer" in refused(stand_in, body)


def test_answer__of_what_is_no_counter_names_the_selector(stand_in: JsonStandIn) -> None:
    body = {"status": "success", "data": matrix((NOON.timestamp(), "-3"))}
    assert "the first at 2024-03-03T12:00:00Z: a reading is -3" in refused(stand_in, body)
    histogram = {"resultType": "matrix", "result": [{"metric": {}, "histograms": []}]}
    assert "has histograms" in refused(stand_in, {"status": "success", "data": histogram})


def test_first_moment__of_a_server_that_heeds_no_times_asks_for_since(stand_in: JsonStandIn) -> None:
    stand_in.answers["/api/v1/series"] = {"status": "success", "data": [{"pod": "a"}]}
    with pytest.raises(HistoryError, match="give `since`"):
        Prometheus(stand_in.url, {"feed": "events_total"}).first_moment()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"queries": {}}, "no queries"),
        ({"queries": {"feed": " "}}, "'feed' is empty"),
        ({"scrape_interval_s": 0}, "scrape_interval_s 0"),
        ({"max_gap_s": -1}, "max_gap_s -1"),
        ({"max_gap_s": 60, "ended_after_s": 30}, "ended_after_s 30"),
        ({"measures": Measures.OFFERED, "held_back": "x"}, "held_back applies to throughput"),
        ({"since": datetime(2024, 1, 1)}, "no time zone"),
        ({"timeout_s": 0}, "timeout_s 0"),
        ({"page_points": 12_000}, "page_points 12000"),
    ],
)
def test_parameters__that_do_not_go_together_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(HistoryError, match=message):
        Prometheus(**{"url": "http://prometheus:9090", "queries": {"feed": "events_total"}, **wrong})


@pytest.mark.slow
def test_ca_file__is_what_the_server_is_checked_against(tmp_path: Path) -> None:
    """A key and a certificate for 127.0.0.1, which signs itself."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost"
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*made.split(), *names], check=True, capture_output=True)
    with json_stand_in(certificate, key) as server:
        server.answers["/x"] = 7
        assert JsonServer("Storm", server.url, HistoryError, ca_file=str(certificate)).get("/x") == (200, 7)
        with pytest.raises(HistoryError, match=r"cannot be reached: .*CERTIFICATE_VERIFY_FAILED"):
            JsonServer("Storm", server.url, HistoryError).get("/x")


def test_ca_file__that_holds_no_certificate_is_told(tmp_path: Path) -> None:
    empty = tmp_path / "empty.pem"
    empty.write_text("")
    pipe = tmp_path / "pipe.pem"
    os.mkfifo(pipe)
    refused = {empty: "it holds no certificate in PEM", tmp_path / "none.pem": "No such file", pipe: "it is a pipe"}
    for file, why in refused.items():
        with pytest.raises(HistoryError, match=f"Storm: ca_file {file} cannot be read: .*{why}"):
            JsonServer("Storm", "https://ui", HistoryError, ca_file=str(file))


@pytest.mark.parametrize("name", ["ca_file", "certificate_file", "key_file"])
@pytest.mark.parametrize("kind", ["a pipe", "a device", "a folder", "50 MB"])
def test_a_file_of_the_login__that_is_none_is_refused_at_once(tmp_path: Path, name: str, kind: str) -> None:
    whole, path = tmp_path / "whole.pem", tmp_path / "bad.pem"
    whole.write_text("")
    if kind == "a pipe":
        os.mkfifo(path)
    elif kind == "a device":
        path.symlink_to("/dev/zero")
    elif kind == "a folder":
        path.mkdir()
    else:
        path.write_bytes(b"#" * (50 << 20))
    pair = {"ca_file": None, "certificate_file": str(whole), "key_file": str(whole)}
    with pytest.raises(HistoryError, match=r"it is a pipe|Is a directory|more than 4 MiB"):
        JsonServer("Storm", "https://ui", HistoryError, **{**pair, name: str(path)})
