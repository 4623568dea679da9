"""`forescale serve` as a process: KEDA's own interface, HTTP, metrics, and what it answers when it knows nothing."""

import re
import ssl
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from keda_loop import ScaledObject, keda_messages
from served import Home, Served, home, served

from forescale.files.atomic import write_whole
from planner.ledger.step_state import StepState

pytestmark = pytest.mark.slow

METADATA = {"topology": "calls", "operator": "transcribe"}


@pytest.fixture(scope="module")
def messages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return keda_messages(tmp_path_factory.mktemp("keda"))


@pytest.fixture
def at_noon(tmp_path: Path) -> Home:
    return home(tmp_path)


@pytest.fixture
def serving(at_noon: Home) -> Iterator[Served]:
    """Steps at 13:00 to 8 and at 15:00 to 1 instance of transcribe; it is noon."""
    at_noon.plan((60, 8), (180, 1))
    with served(at_noon.settings.home) as running:
        yield running


def test_keda__scales_from_zero_to_the_peak_and_back_by_the_schedule(
    at_noon: Home, serving: Served, messages: dict[str, Any]
) -> None:
    with grpc.insecure_channel(serving.keda) as channel:
        # One instance is what the plan has between peaks: KEDA may take that away.
        workload = ScaledObject(channel, messages, METADATA | {"activation": "1"})
        serving.until(None)
        assert workload.poll() == 0  # no step has begun
        at_noon.go_to(60)
        serving.until(8)
        assert workload.poll() == 8
        workload.other = 11  # another trigger wants more: the plan is a floor
        assert workload.poll() == 11
        workload.other = 3
        assert workload.poll() == 8
        workload.other = 0
        at_noon.go_to(180)
        serving.until(1)
        assert workload.poll() == 0
        assert ScaledObject(channel, messages, METADATA, minimum=0).poll() == 1


def test_keda__keeps_what_runs_while_no_plan_is_known_and_never_gets_a_number(
    at_noon: Home, serving: Served, messages: dict[str, Any]
) -> None:
    with grpc.insecure_channel(serving.keda) as channel:
        workload = ScaledObject(channel, messages, METADATA, replicas=6, other=2)
        at_noon.go_to(60)
        serving.until(8)
        at_noon.go_to(24 * 60)  # the schedule's end
        serving.until(None)
        assert not workload.active()
        with pytest.raises(grpc.RpcError) as refused:
            workload.wanted()
        assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
        assert "the newest schedule has ended" in refused.value.details()
        assert workload.poll() == 6


@pytest.mark.parametrize(
    ("metadata", "code", "reason"),
    [
        ({}, grpc.StatusCode.INVALID_ARGUMENT, "lack 'topology'"),
        ({"topology": "calls"}, grpc.StatusCode.INVALID_ARGUMENT, "lack 'operator'"),
        ({"topology": "nope", "operator": "x"}, grpc.StatusCode.NOT_FOUND, "no topology 'nope'"),
        ({"topology": "calls", "operator": "x"}, grpc.StatusCode.NOT_FOUND, "it has ingest, transcribe"),
        (METADATA | {"activation": "many"}, grpc.StatusCode.INVALID_ARGUMENT, "metadata.activation is 'many'"),
        (METADATA | {"activation": "nan"}, grpc.StatusCode.INVALID_ARGUMENT, "metadata.activation is 'nan'"),
    ],
)
def test_metadata_that_cannot_be_right__are_refused_with_the_remedy(
    metadata: dict[str, str], code: grpc.StatusCode, reason: str, shared: Served, messages: dict[str, Any]
) -> None:
    shared.until(8)
    with grpc.insecure_channel(shared.keda) as channel, pytest.raises(grpc.RpcError) as refused:
        ScaledObject(channel, messages, metadata).active()
    assert refused.value.code() is code
    assert reason in refused.value.details()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A step to 8 instances that has begun."""
    here = home(tmp_path_factory.mktemp("shared"))
    here.plan((0, 8))
    with served(here.settings.home) as running:
        yield running


def test_push_activation__is_streamed_at_each_change_and_not_at_all_while_no_plan_is_known(
    at_noon: Home, serving: Served, messages: dict[str, Any]
) -> None:
    with grpc.insecure_channel(serving.keda) as channel:
        streaming = channel.unary_stream(
            "/externalscaler.ExternalScaler/StreamIsActive",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=messages["IsActiveResponse"].FromString,
        )
        metadata = METADATA | {"activation": "1"}
        answers = streaming(ScaledObject(channel, messages, metadata).reference, timeout=300)
        serving.until(None)
        at_noon.go_to(60)
        assert next(answers).result is True  # nothing came before the first step
        at_noon.go_to(180)
        assert next(answers).result is False
        answers.cancel()


def test_keda__hears_that_the_plan_is_older_than_an_operator(
    at_noon: Home, serving: Served, messages: dict[str, Any]
) -> None:
    at_noon.go_to(60)
    serving.until(8)
    file = at_noon.settings.topologies / "calls.yaml"
    file.write_text(file.read_text().replace("streams:", "  mails: {service_s: 0.1}\nstreams:"))
    with grpc.insecure_channel(serving.keda) as channel:
        workload = ScaledObject(channel, messages, METADATA | {"operator": "mails"}, replicas=3)
        deadline = time.monotonic() + 60
        while (told := refusal(workload)).code() is grpc.StatusCode.NOT_FOUND:  # until the file was read
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert told.code() is grpc.StatusCode.UNAVAILABLE
        assert told.details() == "no plan is known: the plan has no operator 'mails'"
        assert workload.poll() == 3


def refusal(workload: ScaledObject) -> Any:
    with pytest.raises(grpc.RpcError) as refused:
        workload.wanted()
    return refused.value


def test_http__gives_the_plan_what_comes_and_metrics_that_say_the_same(at_noon: Home, serving: Served) -> None:
    deadline = time.monotonic() + 120
    while "no approved step has begun" not in (answer := serving.until(None)).json()["why"]:
        assert time.monotonic() < deadline, answer.text  # the ledger may not have been read, or not for long
        time.sleep(0.1)
    assert answer.status_code == 503
    at_noon.go_to(60)
    plan = serving.until(8).json()["plan"]
    assert plan["parallelism"] == {"ingest": 1, "transcribe": 8}
    assert plan["until"].startswith("2024-03-05T12:00:00")
    assert [each["parallelism"]["transcribe"] for each in plan["coming"]] == [1]
    every = httpx.get(f"{serving.http}/plan", timeout=60).json()["topologies"]
    assert [each["plan"]["parallelism"] for each in every] == [plan["parallelism"]]
    metrics = httpx.get(f"{serving.http}/metrics", timeout=60).text
    assert 'forescale_planned_parallelism{operator="transcribe",topology="calls"} 8.0' in metrics
    assert 'forescale_plan_known{topology="calls"} 1.0' in metrics
    refused = serving.plan("nope")
    assert refused.status_code == 404
    assert "known are: " in refused.json()["why"]
    assert httpx.get(f"{serving.http}/readyz", timeout=60).status_code == 200


def test_a_veto__takes_a_plan_back_within_seconds(at_noon: Home, serving: Served) -> None:
    at_noon.go_to(60)
    serving.until(8)
    step = at_noon.ledger.steps(topology="calls", states=(StepState.APPROVED,))[0]
    at_noon.ledger.transition(
        step.id, expected=StepState.APPROVED, to=StepState.VETOED, at=at_noon.clock.now(), by="anna", why="no"
    )
    serving.until(None)


def test_a_thousand_questions_at_once__all_get_the_plan(shared: Served, messages: dict[str, Any]) -> None:
    shared.until(8)

    def ask(_: int) -> set[int]:
        with httpx.Client(base_url=shared.http, timeout=120) as client, grpc.insecure_channel(shared.keda) as channel:
            over_http = {client.get("/plan/calls").json()["plan"]["parallelism"]["transcribe"] for _ in range(50)}
            return over_http | {ScaledObject(channel, messages, METADATA).wanted() for _ in range(50)}

    with ThreadPoolExecutor(10) as pool:
        assert set().union(*pool.map(ask, range(10))) == {8}


def test_a_ledger_that_cannot_be_read__makes_the_plan_unknown_until_it_can(
    at_noon: Home, serving: Served, messages: dict[str, Any]
) -> None:
    at_noon.go_to(60)
    serving.until(8)
    ledger = at_noon.settings.ledger_file
    assert ledger is not None
    whole = ledger.read_bytes()
    ledger.write_bytes(b"no database" * 100)
    answer = serving.until(None)
    assert "the ledger was not read for 10 s" in answer.json()["why"]
    assert httpx.get(f"{serving.http}/readyz", timeout=60).status_code == 503
    assert httpx.get(f"{serving.http}/healthz", timeout=60).status_code == 200
    assert "forescale_planned_parallelism{" not in httpx.get(f"{serving.http}/metrics", timeout=60).text
    with grpc.insecure_channel(serving.keda) as channel:
        assert not ScaledObject(channel, messages, METADATA).active()
    ledger.write_bytes(whole)
    serving.until(8)


def test_shadow_mode_and_a_broken_file__offer_nothing_and_say_why(at_noon: Home, serving: Served) -> None:
    at_noon.go_to(60)
    serving.until(8)
    file = at_noon.settings.topologies / "calls.yaml"
    text = file.read_text()
    write_whole(text.replace("mode: serve", "mode: shadow"), file)
    assert "shadow mode" in serving.until(None).json()["why"]
    write_whole(text.replace("mode: serve", "mode: later"), file)
    while "shadow mode" in (why := serving.until(None).json()["why"]):
        pass
    assert "planning.mode" in why
    write_whole(text, file)
    serving.until(8)


def test_a_server_killed_and_started_again__knows_the_same(at_noon: Home, serving: Served) -> None:
    at_noon.go_to(60)
    before = serving.until(8).json()["plan"]
    serving.process.kill()
    serving.process.wait(120)
    with served(at_noon.settings.home) as again:
        assert again.until(8).json()["plan"] == before


def test_health__is_serving_by_grpcs_own_protocol(shared: Served) -> None:
    shared.until(8)
    with grpc.insecure_channel(shared.keda) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        for service in ("", "externalscaler.ExternalScaler"):
            answer = stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=60)
            assert answer.status == health_pb2.HealthCheckResponse.SERVING
        with pytest.raises(grpc.RpcError) as refused:
            stub.Check(health_pb2.HealthCheckRequest(service="nope"), timeout=60)
        assert refused.value.code() is grpc.StatusCode.NOT_FOUND


def test_health__says_the_same_as_the_plan_beside_it(at_noon: Home, serving: Served) -> None:
    """Asked once each, as the plan is known and as it no longer is: no second later."""
    at_noon.go_to(60)
    state, ledger = health_pb2.HealthCheckResponse, at_noon.settings.ledger_file
    assert ledger is not None
    with grpc.insecure_channel(serving.keda) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        asked = health_pb2.HealthCheckRequest()
        watched = stub.Watch(asked, timeout=300)
        serving.until(8)
        assert stub.Check(asked, timeout=60).status == state.SERVING
        while next(watched).status != state.SERVING:
            pass  # it was asked before anything was read
        ledger.write_bytes(b"no database" * 100)
        serving.until(None)
        assert stub.Check(asked, timeout=60).status == state.NOT_SERVING
        assert next(watched).status == state.NOT_SERVING
        watched.cancel()


def test_tls__holds_for_both_interfaces(at_noon: Home, messages: dict[str, Any]) -> None:
    at_noon.plan((0, 8))
    folder = at_noon.settings.home
    key, chain = folder / "tls.key", folder / "tls.crt"
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *subject]
    subprocess.run([*command, "-keyout", key, "-out", chain], check=True, capture_output=True)
    with served(folder, "--certificate", str(chain), "--key", str(key)) as running:
        assert running.http.startswith("https://")
        trusted = grpc.ssl_channel_credentials(chain.read_bytes())
        with (
            httpx.Client(verify=ssl.create_default_context(cafile=chain), timeout=60) as client,
            grpc.secure_channel(running.keda, trusted) as channel,
        ):
            while (answer := client.get(f"{running.http}/plan/calls")).status_code != 200:
                assert running.process.poll() is None
            assert answer.json()["plan"]["parallelism"]["transcribe"] == 8
            assert ScaledObject(channel, messages, METADATA).wanted() == 8
    with pytest.raises(httpx.HTTPError):
        httpx.get(running.http.replace("https", "http"), timeout=60)


def test_sigterm__ends_it_with_zero(serving: Served) -> None:
    serving.process.terminate()
    assert serving.process.wait(120) == 0
    assert re.search("Traceback", serving.log.read_text()) is None
