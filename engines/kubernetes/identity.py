"""The identity used with the API server: a kubeconfig, or the service account of our pod."""

import logging
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engines.address import is_http_address
from engines.bounded_command import MOST_BYTES, TIME_OUT, TOO_LONG, bounding
from engines.deadline import waiting, within
from engines.http import Failure
from engines.regular_file import MAX_SECRET_BYTES, check_regular

if TYPE_CHECKING:
    from kubernetes.client import ApiClient, Configuration


LOGIN_S = 30.0
"""Longest time of the program that a kubeconfig may name for its login."""


@dataclass(frozen=True)
class Identity:
    """kubeconfig: None for kubectl's default ($KUBECONFIG, ~/.kube/config) or, if that file does not exist, the pod's
    service account. context: of the kubeconfig; None for its current one.
    """

    kubeconfig: Path | None = None
    context: str | None = None


def api_client(identity: Identity, failure: Failure) -> "ApiClient":
    """A client that renews its own tokens. Raises a failure, which never quotes the kubeconfig."""
    try:
        from kubernetes import config
        from kubernetes.client import ApiClient, Configuration
    except ImportError:
        raise failure(
            "the client of Kubernetes is not installed; install forescale with its extra `kubernetes`"
        ) from None
    import urllib3
    import yaml

    settings = Configuration()
    if settings.retries is None:
        # Retry reads only: the caller must look up whether an interrupted change took effect.
        # A refused certificate stays refused, and a server may ask for an hour's patience: nobody would wait for that.
        settings.retries = urllib3.Retry(
            total=3,
            connect=1,
            read=1,
            status=2,
            other=0,
            respect_retry_after_header=False,
            backoff_factor=0.2,
            backoff_jitter=0.2,
            status_forcelist=(429, 503),
            allowed_methods=("GET",),
            raise_on_status=False,
        )
    named = identity.kubeconfig is not None or identity.context is not None
    defaults = [Path(path).expanduser() for path in config.KUBE_CONFIG_DEFAULT_LOCATION.split(":")]
    default = defaults[0]
    login_failures: list[str] = []
    try:
        if named or default.exists():
            further = [] if identity.kubeconfig else [path for path in defaults[1:] if path.exists()]
            for path in (identity.kubeconfig or default, *further):
                check_regular(path, MAX_SECRET_BYTES)
                for token in _token_files(path, yaml.safe_load(path.read_bytes())):
                    check_regular(token, MAX_SECRET_BYTES)
            with waiting(f"the login of kubeconfig {identity.kubeconfig or default}", LOGIN_S):
                within(LOGIN_S, partial(_load, identity, settings, login_failures))
            for used in (settings.ssl_ca_cert, settings.cert_file, settings.key_file):
                if used is not None:
                    check_regular(Path(used), MAX_SECRET_BYTES)
        else:
            config.load_incluster_config(client_configuration=settings)
    except config.ConfigException as error:
        raise failure(_unusable(identity, default, str(error), named=named)) from None
    except (yaml.YAMLError, OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise failure(
            f"kubeconfig {identity.kubeconfig or default} cannot be read; see whether `kubectl` can use it"
        ) from None
    if login_failures:
        how = beyond_its_bound(login_failures[0], LOGIN_S) or "failed"
        raise failure(
            f"the program that kubeconfig {identity.kubeconfig or default} names for its login {how}; see whether "
            "`kubectl` can use it"
        )
    if odd := _odd_settings(settings.host, (settings.api_key or {}).values()):
        raise failure(f"kubeconfig {identity.kubeconfig or default} cannot be used: {odd}")
    return ApiClient(settings)


def _load(identity: Identity, settings: "Configuration", login_failures: list[str]) -> None:
    """As config.load_kube_config does, with login programs that are bounded, also when a token is renewed."""
    from kubernetes import config
    from kubernetes.config.kube_config import KubeConfigLoader, KubeConfigMerger

    merged = KubeConfigMerger(str(identity.kubeconfig or config.KUBE_CONFIG_DEFAULT_LOCATION)).config
    if merged is None:
        raise config.ConfigException("there is none")
    bound_logins(merged, LOGIN_S)
    with _login_log(login_failures):
        KubeConfigLoader(merged, active_context=identity.context, config_base_path=None).load_and_set(settings)


def _token_files(kubeconfig: Path, body: object) -> list[Path]:
    """Files of tokens that users of a kubeconfig name. The client reads them whole, whatever they are."""
    users = body.get("users") if isinstance(body, dict) else None
    entries = [each.get("user") for each in users if isinstance(each, dict)] if isinstance(users, list) else []
    files = [entry.get("tokenFile") for entry in entries if isinstance(entry, dict)]
    return [kubeconfig.parent / file for file in files if isinstance(file, str)]


@contextmanager
def _login_log(failures: list[str]) -> Iterator[None]:
    """Collect what the client logs about this thread's login program, instead of showing it: it may repeat a secret.
    A login that was given up goes on beside the next, and its failure is not that one's.
    """
    thread = threading.get_ident()

    def keep(record: logging.LogRecord) -> bool:
        ours = record.module == "kube_config" and record.thread == thread
        if ours:
            failures.append(record.getMessage())
        return not ours

    logging.root.addFilter(keep)
    try:
        yield
    finally:
        logging.root.removeFilter(keep)


def _odd_settings(host: object, keys: Iterable[object]) -> str:
    """What no request could be sent with; empty if nothing. Repeats neither, as both may hold a secret."""
    if not isinstance(host, str) or not is_http_address(host):
        return "the server of its context is no address (it is not shown); give it like https://host:6443"
    if not all(isinstance(key, str) and key.isascii() and key.isprintable() for key in keys):
        return "its token is not one line of printable ASCII (it is not shown); renew it"
    return ""


def _unusable(identity: Identity, default: Path, reason: str, *, named: bool) -> str:
    if not named and not default.exists():
        return (
            f"there is no kubeconfig {default}, and this is no pod of Kubernetes ({reason}); "
            "name a file in cluster.kubeconfig"
        )
    if identity.context is not None and identity.context in reason:
        return (
            f"kubeconfig {identity.kubeconfig or default} has no context {identity.context!r}; "
            "`kubectl config get-contexts` lists them"
        )
    return f"kubeconfig {identity.kubeconfig or default} cannot be used; see whether `kubectl` can use it"


def bound_logins(kubeconfig: Any, timeout_s: float) -> None:
    """Let every program of a kubeconfig as the client has read it, which is changed in place, run within bounds:
    the client reads all that it prints.

    A program that may ask the person at the terminal is left as it is.
    """
    at_terminal = sys.stdin is not None and sys.stdin.isatty()
    for user in kubeconfig["users"].value:
        body = user.safe_get("user")
        program = body.get("exec") if isinstance(body, dict) else None
        if not isinstance(program, dict) or (at_terminal and program.get("interactiveMode") != "Never"):
            continue
        command, arguments = program.get("command"), program.get("args") or []
        if isinstance(command, str) and all(isinstance(each, str) for each in arguments):
            first, *rest = bounding([command, *arguments], timeout_s)
            program.update(command=first, args=rest)


def beyond_its_bound(failure: str, timeout_s: float) -> str:
    """Which bound a login program exceeded, by the client's text of its failure; empty if none."""
    bounds = {
        TIME_OUT: f"did not end within {timeout_s:g} s",
        TOO_LONG: f"printed more than {MOST_BYTES >> 20} MiB",
    }
    return next((what for code, what in bounds.items() if failure.startswith(f"exec: process returned {code}")), "")
