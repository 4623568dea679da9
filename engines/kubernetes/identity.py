"""The identity used with the API server: a kubeconfig, or the service account of our pod."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from engines.deadline import waiting, within
from engines.http import Failure
from engines.regular_file import MAX_SECRET_BYTES, check_regular

if TYPE_CHECKING:
    from kubernetes.client import ApiClient


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
    try:
        if named or default.exists():
            further = [] if identity.kubeconfig else [path for path in defaults[1:] if path.exists()]
            for path in (identity.kubeconfig or default, *further):
                check_regular(path, MAX_SECRET_BYTES)
            file = None if identity.kubeconfig is None else str(identity.kubeconfig)
            load = partial(config.load_kube_config, file, identity.context, settings, persist_config=False)
            with waiting(f"the login of kubeconfig {identity.kubeconfig or default}", LOGIN_S):
                within(LOGIN_S, load)
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
    return ApiClient(settings)


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
