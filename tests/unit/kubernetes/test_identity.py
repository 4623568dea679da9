"""As whom the API server is asked, and what is said where that is not known."""

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from machine import waits

from engines.kubernetes import identity
from engines.kubernetes.identity import Identity, api_client
from engines.kubernetes.server import KubernetesServer
from planner.errors import ClusterError

SECRET = "token-that-nobody-reads"
KUBECONFIG = f"""
apiVersion: v1
kind: Config
clusters: [{{name: local, cluster: {{server: "https://127.0.0.1:6443"}}}}]
users: [{{name: anna, user: {{token: {SECRET}}}}}]
contexts: [{{name: production, context: {{cluster: local, user: anna}}}}]
current-context: production
"""

pytestmark = pytest.mark.slow  # the client takes a second to load


def _written(folder: Path, text: str) -> Path:
    path = folder / "kubeconfig"
    path.write_text(text)
    return path


def test_identity__is_that_of_the_kubeconfig(tmp_path: Path) -> None:
    client = api_client(Identity(_written(tmp_path, KUBECONFIG)), ClusterError)
    assert client.configuration.host == "https://127.0.0.1:6443"
    assert client.configuration.api_key == {"BearerToken": f"Bearer {SECRET}"}


@pytest.mark.parametrize(
    ("text", "context", "said"),
    [
        (KUBECONFIG, "staging", "has no context 'staging'; `kubectl config get-contexts` lists them"),
        (KUBECONFIG.replace("current-context", "context-of-today"), None, "see whether `kubectl` can use it"),
        (f"users: [{SECRET}", None, "cannot be read; see whether `kubectl` can use it"),
        (f"users: {SECRET}", None, "see whether `kubectl` can use it"),
        ("", None, "see whether `kubectl` can use it"),
    ],
)
def test_identity__that_cannot_be_used_is_told_without_its_secrets(
    tmp_path: Path, text: str, context: str | None, said: str
) -> None:
    path = _written(tmp_path, text)
    with pytest.raises(ClusterError) as told:
        api_client(Identity(path, context), ClusterError)
    assert said in str(told.value)
    assert str(path) in str(told.value)
    assert SECRET not in str(told.value)


@pytest.mark.parametrize("kind", ["a pipe", "a device", "a folder", "50 MB"])
def test_kubeconfig__that_is_no_file_of_bounded_size_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "kubeconfig"
    if kind == "a pipe":
        os.mkfifo(path)
    elif kind == "a device":
        path.symlink_to("/dev/zero")
    elif kind == "a folder":
        path.mkdir()
    else:
        path.write_bytes(b"#" * (50 << 20))
    with pytest.raises(ClusterError, match=f"kubeconfig {path} cannot be read"):
        api_client(Identity(path), ClusterError)


@pytest.mark.parametrize("field", ["certificate-authority", "client-certificate", "client-key", "tokenFile"])
def test_kubeconfig__whose_files_are_pipes_is_refused_soon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, field: str
) -> None:
    monkeypatch.setattr(identity, "LOGIN_S", 1.0)
    os.mkfifo(pipe := tmp_path / "pipe")
    of_the_cluster = field == "certificate-authority"
    place, end = ("127.0.0.1:6443", '"}') if of_the_cluster else (SECRET, "}")
    text = KUBECONFIG.replace(place + end, f"{place}{end[:-1]}, {field}: {pipe}}}")
    if field == "tokenFile":
        text = text.replace(f"token: {SECRET}, ", "")
    assert str(pipe) in text
    with waits(5), pytest.raises(ClusterError, match="see whether `kubectl` can use it"):
        api_client(Identity(_written(tmp_path, text)), ClusterError)


LOGIN = "exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: /bin/sh, args: [-c, "


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (
            f"token: {SECRET}",
            f"{LOGIN}'echo {SECRET} >&2; exit 3']}}",
            "the program that .* names for its login failed",
        ),
        (f"token: {SECRET}", f"{LOGIN}'echo {SECRET}']}}", "the program that .* names for its login failed"),
        (f"token: {SECRET}", "tokenFile: /dev/zero", "see whether `kubectl` can use it"),
        (f"token: {SECRET}", "tokenFile: kubeconfig", "its token is not one line of printable ASCII"),
        (f"token: {SECRET}", f'token: "a\\n{SECRET}"', "its token is not one line of printable ASCII"),
        ('server: "https://127.0.0.1:6443"', f'server: "https:/anna:{SECRET}@h"', "is no address"),
        ('server: "https://127.0.0.1:6443"', "server: ftp://h", "is no address"),
        ('server: "https://127.0.0.1:6443"', "server: https://h:99999", "is no address"),
    ],
)
def test_a_login_or_server__that_cannot_be_is_named_and_not_shown(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, before: str, after: str, said: str
) -> None:
    text = KUBECONFIG.replace(before, after)
    assert text != KUBECONFIG
    with pytest.raises(ClusterError, match=said) as error:
        api_client(Identity(_written(tmp_path, text)), ClusterError)
    assert SECRET not in f"{error.value} {caplog.text}"


def test_a_login_program__that_prints_without_end_is_stopped_and_named(tmp_path: Path) -> None:
    text = KUBECONFIG.replace(f"token: {SECRET}", f"{LOGIN}'exec cat /dev/zero']}}")
    with pytest.raises(ClusterError, match="names for its login printed more than 16 MiB; see whether `kubectl`"):
        api_client(Identity(_written(tmp_path, text)), ClusterError)


def test_a_login_program__that_waits_without_end_is_stopped_with_all_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identity, "LOGIN_S", 5.0)
    text = KUBECONFIG.replace(f"token: {SECRET}", f"{LOGIN}'sleep 600 & echo $! > {tmp_path}/started; wait']}}")
    with pytest.raises(ClusterError, match=r"names for its login did not end within 5 s|cannot be read; see whether"):
        api_client(Identity(_written(tmp_path, text)), ClusterError)
    started = Path("/proc", (tmp_path / "started").read_text().strip(), "stat")
    ended_by_s = time.monotonic() + 60
    while started.exists() and started.read_text().rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() < ended_by_s, "what the program started still runs"
        time.sleep(0.05)


def test_a_login__is_not_blamed_for_one_that_fails_beside_it(tmp_path: Path) -> None:
    answer = '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "t"}}'
    (folder := tmp_path / "good").mkdir()
    (folder / "answer").write_text(answer)
    program = f"touch {folder}/begun; while [ ! -e {folder}/go ]; do sleep .05; done; cat {folder}/answer"
    good = _written(folder, KUBECONFIG.replace(f"token: {SECRET}", f"{LOGIN}'{program}']}}"))
    (other := tmp_path / "bad").mkdir()
    bad = _written(other, KUBECONFIG.replace(f"token: {SECRET}", f"{LOGIN}'exit 3']}}"))
    with ThreadPoolExecutor(1) as pool:
        login = pool.submit(api_client, Identity(good), ClusterError)
        while not (folder / "begun").exists():
            assert not login.done(), login.exception()
            time.sleep(0.01)
        with pytest.raises(ClusterError, match=f"kubeconfig {bad} names for its login failed"):
            api_client(Identity(bad), ClusterError)
        (folder / "go").touch()
        assert login.result().configuration.api_key == {"BearerToken": "Bearer t"}


def test_client__that_is_not_installed_is_told_with_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kubernetes", None)
    with pytest.raises(ClusterError, match="install forescale with its extra `kubernetes`"):
        api_client(Identity(), ClusterError)


def test_messages__never_repeat_the_token(tmp_path: Path) -> None:
    server = KubernetesServer("shop", ClusterError, Identity(_written(tmp_path, KUBECONFIG)))
    told = server._error("deployment/orders", 422, {"message": f"header Bearer {SECRET} is odd"}, "")
    assert "header Bearer … is odd" in str(told)
    assert SECRET not in str(server._error("deployment/orders", 500, {}, f"Bearer {SECRET}"))


def test_identity__of_nobody_says_what_to_give(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubernetes.config.KUBE_CONFIG_DEFAULT_LOCATION", str(tmp_path / "none"))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(ClusterError, match=r"no kubeconfig .*none, and this is no pod .* name a file in cluster.kube"):
        api_client(Identity(), ClusterError)
