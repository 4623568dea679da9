"""No server makes a call last longer, or take more memory, than it may: sockets that send slowly or without end."""

import gzip
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import pytest
import yaml
from json_stand_in import json_stand_in
from machine import waits
from patience import until

import engines.bounded_answer
import engines.deadline
from engines.deadline import NOTICE_S, Deadline, altogether, calls_go_on, left_s, within
from engines.http import JsonServer
from engines.kubernetes.identity import Identity
from engines.kubernetes.resources import FLINK_DEPLOYMENT
from engines.kubernetes.server import KubernetesServer

Serve = Callable[[socket.socket, threading.Event], None]

_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


@contextmanager
def served(serve: Serve) -> Iterator[str]:
    """The address of a server that does this with each connection, after the request came."""
    ended = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.05)

        def accept() -> None:
            while not ended.is_set():
                try:
                    connection, _ = listener.accept()
                except TimeoutError:
                    continue
                with connection:
                    connection.recv(65536)
                    with suppress(OSError):
                        serve(connection, ended)

        thread = threading.Thread(target=accept)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            ended.set()
            thread.join()


def _head_by_bytes(connection: socket.socket, ended: threading.Event) -> None:
    for byte in _HEAD * 100:
        connection.sendall(bytes([byte]))
        if ended.wait(0.1):
            return


def _body_by_bytes(connection: socket.socket, ended: threading.Event) -> None:
    connection.sendall(_HEAD + b"\r\n")
    while not ended.wait(0.1):
        connection.sendall(b" ")


@pytest.mark.parametrize("serve", [_head_by_bytes, _body_by_bytes])
def test_call__ends_in_its_time_however_slowly_bytes_come(serve: Serve) -> None:
    with served(serve) as url:
        server = JsonServer("Flink", url, RuntimeError, timeout_s=0.5)
        with waits(2, at_least_s=0.4), pytest.raises(RuntimeError, match=r"did not answer /jobs within 0.5 s"):
            server.get("/jobs")


def _without_end(connection: socket.socket, ended: threading.Event) -> None:
    connection.sendall(_HEAD + b"\r\n")
    while not ended.is_set():
        connection.sendall(b" " * 65536)


def _gzip_bomb(connection: socket.socket, ended: threading.Event) -> None:
    # 32 MiB of spaces in about 32 KiB.
    packed = gzip.compress(b" " * 2**25)
    connection.sendall(_HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed) + packed)


@pytest.mark.parametrize("serve", [_without_end, _gzip_bomb])
def test_call__takes_no_more_than_the_largest_answer(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines.bounded_answer, "MAX_ANSWER_BYTES", 2**20)
    with served(serve) as url:
        server = JsonServer("Flink", url, RuntimeError, timeout_s=10.0)
        with pytest.raises(RuntimeError, match=r"answers with more than 1 MiB; see whether the address"):
            server.get("/jobs")


def test_call__refuses_an_answer_that_is_packed_more_than_once() -> None:
    def serve(connection: socket.socket, ended: threading.Event) -> None:
        packed = gzip.compress(gzip.compress(b"{}"))
        connection.sendall(_HEAD + b"Content-Encoding: gzip, gzip\r\nContent-Length: %d\r\n\r\n" % len(packed) + packed)

    with served(serve) as url, pytest.raises(RuntimeError, match=r"packs its answer as 'gzip, gzip'"):
        JsonServer("Flink", url, RuntimeError, timeout_s=5.0).get("/jobs")


def test_call__does_not_wait_for_as_long_as_a_busy_server_asks() -> None:
    def serve(connection: socket.socket, ended: threading.Event) -> None:
        connection.sendall(b"HTTP/1.1 429 Busy\r\nRetry-After: 3600\r\nContent-Length: 2\r\n\r\n{}")

    with served(serve) as url, waits(3):
        assert JsonServer("Flink", url, RuntimeError, timeout_s=30.0).get("/jobs")[0] == 429


def _cluster(tmp_path: Path, url: str, timeout_s: float = 2.0) -> KubernetesServer:
    access = {"current-context": "a", "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}]}
    access |= {"clusters": [{"name": "a", "cluster": {"server": url}}], "users": [{"name": "a", "user": {}}]}
    file = tmp_path / "kubeconfig"
    file.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Config", **access}))
    return KubernetesServer("shop", RuntimeError, Identity(file), timeout_s=timeout_s)


def test_kubernetes__that_asks_for_an_hours_patience_is_given_up_at_once(tmp_path: Path) -> None:
    def serve(connection: socket.socket, ended: threading.Event) -> None:
        head = b"HTTP/1.1 429 Busy\r\nRetry-After: 3600\r\nContent-Length: 2\r\nConnection: close\r\n"
        connection.sendall(head + b"\r\n{}")

    with served(serve) as url, waits(5), pytest.raises(RuntimeError, match="429"):
        _cluster(tmp_path, url, timeout_s=30.0).get(FLINK_DEPLOYMENT, "words")


def test_kubernetes__whose_certificate_nobody_signed_is_given_up_at_once(tmp_path: Path) -> None:
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    made = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost"
    files = ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*made.split(), "-addext", "subjectAltName=IP:127.0.0.1", *files], check=True, capture_output=True)
    told = r"cannot be reached: .*certificate"
    with json_stand_in(certificate, key) as stand_in, waits(5), pytest.raises(RuntimeError, match=told):
        _cluster(tmp_path, stand_in.url, timeout_s=30.0).get(FLINK_DEPLOYMENT, "words")


@pytest.mark.parametrize("serve", [_head_by_bytes, _body_by_bytes])
def test_kubernetes__ends_in_its_time_however_slowly_bytes_come(serve: Serve, tmp_path: Path) -> None:
    with served(serve) as url:
        cluster = _cluster(tmp_path, url)
        told = r"did not answer on flinkdeployment/words within 2 s"
        with waits(4, at_least_s=1.9), pytest.raises(RuntimeError, match=told):
            cluster.get(FLINK_DEPLOYMENT, "words")


@pytest.mark.parametrize("serve", [_without_end, _gzip_bomb])
def test_kubernetes__takes_no_more_than_the_largest_answer(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines.bounded_answer, "MAX_ANSWER_BYTES", 2**20)
    with (
        served(serve) as url,
        pytest.raises(
            RuntimeError, match=r"on flinkdeployment/words, answers with more than 1 MiB; see whether the address"
        ),
    ):
        _cluster(tmp_path, url).get(FLINK_DEPLOYMENT, "words")


def test_call__that_may_take_long_says_what_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(engines.deadline, "NOTICE_S", 0.2)
    with served(_body_by_bytes) as url:
        with pytest.raises(RuntimeError, match="did not answer"):
            JsonServer("Flink", url, RuntimeError, timeout_s=0.6).get("/jobs")
        assert f"still waiting for Flink at {url}, at most 0.6 s" in caplog.text


def _a_late_answer(connection: socket.socket, ended: threading.Event) -> None:
    ended.wait(0.7)
    body = b'{"metadata": {"name": "words"}}'
    connection.sendall(_HEAD + b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)


def test_operation__of_several_requests_ends_in_the_time_of_three(tmp_path: Path) -> None:
    with served(_a_late_answer) as url:
        flink, cluster = JsonServer("Flink", url, RuntimeError, timeout_s=2.0), _cluster(tmp_path, url, timeout_s=2.0)
        asks: dict[str, tuple[AbstractContextManager[None], Callable[[], object]]] = {
            "Flink": (flink.operation(), lambda: flink.get("/jobs")),
            "Kubernetes": (cluster.operation(), lambda: cluster.get(FLINK_DEPLOYMENT, "words")),
        }
        for name, (operation, ask) in asks.items():
            with (
                waits(8, at_least_s=5.5),
                pytest.raises(RuntimeError, match=rf"{name} at .* did not answer .* within [01]\b"),
            ):
                _ask_often(operation, ask)
            ask()  # the next operation has its own time


def _ask_often(operation: AbstractContextManager[None], ask: Callable[[], object]) -> None:
    with operation:
        for _ in range(10):
            ask()


def test_operation__says_once_what_it_waits_for(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    assert NOTICE_S < 5, "with the imports of a busy machine, more than ten seconds"
    monkeypatch.setattr(engines.deadline, "NOTICE_S", 0.2)
    with served(_a_late_answer) as url:
        server = JsonServer("Flink", url, RuntimeError, timeout_s=30.0)
        with server.operation():
            for _ in range(3):
                server.get("/jobs")
    assert caplog.text.count("still waiting for Flink") == 1


def test_waits__share_a_thread_which_announces_a_later_one_that_has_less_time(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    threads = threading.active_count()
    with altogether("the first", 60.0):
        for _ in range(100):
            with Deadline(60.0):
                assert threading.active_count() <= threads + 1
        monkeypatch.setattr(engines.deadline, "NOTICE_S", 0.1)
        with waiting_elsewhere("the second"):
            until(lambda: "still waiting for the second" in caplog.text, within_s=2.0, every_s=0.01)
    assert "the first" not in caplog.text


@contextmanager
def waiting_elsewhere(what: str) -> Iterator[None]:
    """In another thread, which knows of no operation."""
    ended = threading.Event()

    def wait() -> None:
        with altogether(what, 60.0):
            ended.wait()

    thread = threading.Thread(target=wait)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def test_a_forked_process__has_alarms_of_its_own() -> None:
    with altogether("the parent", 60.0):
        child = os.fork()
        if child == 0:
            with Deadline(60.0), suppress(BaseException):
                os._exit(threading.active_count())
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2  # its own, and that of its alarms


def test_altogether__leaves_less_to_later_calls_and_its_own_time_to_none_after_it() -> None:
    with altogether("Flink", 0.3):
        assert left_s(10.0) <= 0.3
        with altogether("Flink", 5.0):
            assert left_s(10.0) <= 0.3
        time.sleep(0.35)
        assert 0 < left_s(10.0) < 0.01
    assert left_s(10.0) == 10.0


def test_command__that_gives_a_call_up_ends_with_its_own_status(tmp_path: Path) -> None:
    # The thread of the call wakes with each byte: while Python ends, that would abort the process.
    with served(_body_by_bytes) as url:
        _cluster(tmp_path, url)
        (tmp_path / "pair.yaml").write_text(
            "topology: pair\noperators: {read: {service_s: 0.1}}\nstreams: []\n"
            f"cluster: {{kind: kubernetes, timeout_s: 1, namespace: shop, kubeconfig: {tmp_path}/kubeconfig, "
            "operators: {read: deployment/read}}\n"
        )
        home = {"FORESCALE_HOME": str(tmp_path / "home"), "FORESCALE_TOPOLOGIES": str(tmp_path)}
        command = [sys.executable, "-c", "from forescale.cli import main; main()", "deploy", "now", "pair"]
        ended = subprocess.run([*command, "--set", "read=2"], env=os.environ | home, capture_output=True, text=True)
    assert ended.returncode == 1, ended.stderr
    assert "did not answer on deployment/read within 1 s" in ended.stderr


def test_within__gives_the_answer_its_error_or_up() -> None:
    assert within(5.0, lambda: 3) == 3
    with pytest.raises(ValueError, match="wrong"):
        within(5.0, lambda: _raised(ValueError("wrong")))
    with pytest.raises(TimeoutError, match=r"no answer within 0.1 s"):
        within(0.1, lambda: time.sleep(0.5))
    assert calls_go_on()


def _raised(error: Exception) -> None:
    raise error
