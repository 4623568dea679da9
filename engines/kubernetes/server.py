"""The API server of one namespace: reads and server-side apply; every failure names place, value and remedy."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from engines.bounded_answer import TooLargeError
from engines.deadline import altogether, left_s, waiting, within
from engines.http import OPERATION_REQUESTS, Failure
from engines.kubernetes.answers import bound_answers, odd_shape
from engines.kubernetes.identity import Identity, api_client
from engines.kubernetes.resources import FLINK_DEPLOYMENT, SCALE, Resource
from engines.redaction import without_secrets

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

FIELD_MANAGER = "forescale"
"""The name under which the API server records the fields we own."""

_LACKING_RIGHT = re.compile(r'cannot (\w+) resource "([^"]+)" in API group "([^"]*)"')
_OTHER_MANAGER = re.compile(r'conflict with "([^"]+)"')


class RequestRefusedError(Exception):
    """The API server understood the request and refused it; nothing has changed.

    stale: the object changed since it was read. absent: it does not exist. managers: owners of fields that we tried to
    set.
    """

    def __init__(
        self, reason: str, *, stale: bool = False, absent: bool = False, managers: tuple[str, ...] = ()
    ) -> None:
        super().__init__(reason)
        self.stale = stale
        self.absent = absent
        self.managers = managers


@dataclass(frozen=True)
class Answer:
    """An object from the API server. at: the server's clock, to the second."""

    body: Mapping[str, Any]
    at: datetime

    @property
    def version(self) -> str:
        return str(self.body["metadata"]["resourceVersion"])


class KubernetesServer:
    """One namespace. identity: the default identity if omitted. timeout_s: of one request. client: replaces the
    identity's client in tests of rare answers.
    """

    def __init__(
        self,
        namespace: str,
        failure: Failure,
        identity: Identity | None = None,
        *,
        timeout_s: float = 10.0,
        client: "ApiClient | None" = None,
    ) -> None:
        self._client = client or api_client(identity or Identity(), failure)
        bound_answers(self._client)
        self._timeout_s = timeout_s
        self._failure = failure
        self.namespace = namespace
        settings = self._client.configuration
        parts = urlsplit(settings.host)
        shown = parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()
        self.place = f"Kubernetes at {shown}, namespace {namespace}"

    def operation(self) -> AbstractContextManager[None]:
        """The requests within belong together: they end within the time of OPERATION_REQUESTS of them."""
        return altogether(self.place, OPERATION_REQUESTS * self._timeout_s)

    def failure(self, message: str) -> Exception:
        """The error with this message, without secrets."""
        return self._failure(self._shown(message))

    def get(self, resource: Resource, name: str) -> Answer:
        """Raises RequestRefusedError if it does not exist or may not be read."""
        from kubernetes.client import CustomObjectsApi

        call = CustomObjectsApi(self._client).get_namespaced_custom_object_with_http_info
        where = f"{resource.short}/{name}"
        return self._answer(
            where,
            lambda: call(
                resource.group,
                resource.version,
                self.namespace,
                resource.plural,
                name,
                _request_timeout=(self._timeout_s, self._timeout_s),
            ),
        )

    def listed(self, resource: Resource, selector: str | None = None) -> Sequence[Answer]:
        """All objects of a kind, or those matching a label selector; empty if the server does not serve the kind.

        Raises RequestRefusedError if listing is not allowed or the selector is invalid.
        """
        from kubernetes.client import CustomObjectsApi

        call = CustomObjectsApi(self._client).list_namespaced_custom_object_with_http_info
        labels = {} if selector is None else {"label_selector": selector}
        try:
            answer = self._answer(
                resource.plural if selector is None else f"{resource.plural} of the labels {selector!r}",
                lambda: call(
                    resource.group,
                    resource.version,
                    self.namespace,
                    resource.plural,
                    _request_timeout=(self._timeout_s, self._timeout_s),
                    **labels,
                ),
                listed=True,
            )
        except RequestRefusedError as refused:
            if refused.absent:
                return ()
            raise
        items = answer.body.get("items") or ()
        return [Answer(self._checked(body, resource.plural, named=True), answer.at) for body in items]

    def apply(
        self,
        resource: Resource,
        name: str,
        fields: Mapping[str, Any],
        *,
        version: str,
        scale: bool = False,
        take_over: bool = False,
        dry_run: bool = False,
        manager: str = FIELD_MANAGER,
    ) -> Answer:
        """Own and set these fields of an object that is still at `version`. Raises RequestRefusedError.

        scale: the fields belong to the subresource `scale`. take_over: also fields that another manager owns. manager:
        fields that it owned and that are omitted now are removed from the object.
        """
        from kubernetes.client import CustomObjectsApi

        objects = CustomObjectsApi(self._client)
        of = SCALE if scale else resource
        body = {
            "apiVersion": of.api_version,
            "kind": of.kind,
            "metadata": {"name": name, "namespace": self.namespace, "resourceVersion": version},
            **fields,
        }
        if scale:
            call = objects.patch_namespaced_custom_object_scale_with_http_info
        else:
            call = objects.patch_namespaced_custom_object_with_http_info
        return self._answer(
            f"{resource.short}/{name}",
            lambda: call(
                resource.group,
                resource.version,
                self.namespace,
                resource.plural,
                name,
                body,
                field_manager=manager,
                force=take_over,
                dry_run="All" if dry_run else None,
                _content_type="application/apply-patch+yaml",
                _request_timeout=(self._timeout_s, self._timeout_s),
            ),
        )

    def quotas(self) -> Sequence[Mapping[str, Any]]:
        """The resource quotas of the namespace. Raises RequestRefusedError."""
        from kubernetes.client import CoreV1Api

        core = CoreV1Api(self._client)
        answer = self._answer(
            "resourcequotas",
            lambda: core.list_namespaced_resource_quota_with_http_info(
                self.namespace, _request_timeout=(self._timeout_s, self._timeout_s)
            ),
            listed=True,
        )
        items: Sequence[Mapping[str, Any]] = answer.body.get("items") or ()
        return items

    def _answer(self, where: str, call: Callable[[], Any], *, listed: bool = False) -> Answer:
        import urllib3
        from kubernetes.client import ApiException

        most_s = left_s(self._timeout_s)
        try:
            with waiting(self.place, most_s):
                data, _, headers = within(most_s, call)
        except (TimeoutError, urllib3.exceptions.ReadTimeoutError):
            raise self.failure(
                f"{self.place} did not answer on {where} within {most_s:.3g} s; see whether it is overloaded"
            ) from None
        except TooLargeError as error:
            raise self.failure(f"{self.place}, on {where}, {error}") from None
        except ApiException as error:
            if not error.status:  # how the client reports TLS failures
                raise self.failure(
                    f"{self.place} cannot be reached: {_one_line(error.reason)}; check its certificate"
                ) from None
            raise self._error(where, int(error.status), _status(error.body), str(error.body or "")) from None
        except (urllib3.exceptions.TimeoutError, urllib3.exceptions.MaxRetryError) as error:
            reason = getattr(error, "reason", None) or error
            if isinstance(reason, urllib3.exceptions.ReadTimeoutError):
                raise self.failure(
                    f"{self.place} did not answer on {where} within {most_s:.3g} s; see whether it is overloaded"
                ) from None
            raise self.failure(
                f"{self.place} cannot be reached: {_one_line(reason)}; check the address and the network"
            ) from None
        # The client itself expects answers of an API server: others end in errors of all kinds.
        except (urllib3.exceptions.HTTPError, OSError, ValueError, RecursionError, TypeError, LookupError) as error:
            raise self.failure(
                f"{self.place} broke off or garbled its answer on {where}: {_one_line(error)}; ask again"
            ) from None
        body = self._client.sanitize_for_serialization(data)
        if not isinstance(body, dict):
            raise self.failure(
                f"{self.place} answers on {where} with {type(data).__name__}, not an object; check that the address "
                "is an API server"
            )
        return Answer(self._checked(body, where, named=not listed), _date(headers))

    def _checked(self, body: Mapping[str, Any], where: str, *, named: bool) -> Mapping[str, Any]:
        if odd := odd_shape(body, named=named):
            raise self.failure(
                f"{self.place} answers on {where} with an object of which {odd}; check that the address "
                "is an API server"
            )
        return body

    def _error(self, where: str, status: int, answer: Mapping[str, Any], text: str) -> Exception:
        said = answer.get("message")
        message = self._shown((said if isinstance(said, str) else text[:4000]) or f"HTTP {status}")[:400]
        if status == 401:
            return self.failure(f"{self.place} does not accept the login (HTTP 401); renew the login of the kubeconfig")
        if status == 403 and (right := _LACKING_RIGHT.search(message)):
            verb, resource, group = right.groups()
            return self._refusal(
                f"{self.place} does not let us {verb} {where}: {message}; grant the verb {verb} on {resource} of API "
                f"group {group!r}, as in examples/kubernetes"
            )
        if status == 404:
            field = "cluster.deployment" if where.startswith(f"{FLINK_DEPLOYMENT.short}/") else "cluster.operators"
            return self._refusal(
                f"{self.place} has no {where} ({message}); correct its name in {field}, or create it", absent=True
            )
        if status == 409:
            details = answer.get("details")
            causes = details.get("causes") if isinstance(details, dict) else None
            told = [cause for cause in causes if isinstance(cause, dict)] if isinstance(causes, list) else []
            matches = (_OTHER_MANAGER.search(str(cause.get("message"))) for cause in told)
            managers = tuple(dict.fromkeys(match[1] for match in matches if match))
            return self._refusal(
                f"{self.place} refuses the change of {where}: {message}", stale=not managers, managers=managers
            )
        if status in (400, 403, 422):
            return self._refusal(f"{self.place} refuses what was asked of {where}: {message}; correct it there")
        return self.failure(f"{self.place} fails on {where} with HTTP {status}: {message}; ask again, or see its log")

    def _refusal(
        self, reason: str, *, stale: bool = False, absent: bool = False, managers: tuple[str, ...] = ()
    ) -> RequestRefusedError:
        return RequestRefusedError(self._shown(reason), stale=stale, absent=absent, managers=managers)

    def _shown(self, message: str) -> str:
        settings = self._client.configuration  # its token is renewed now and then
        keys = [word for key in (settings.api_key or {}).values() for word in str(key).split() if word != "Bearer"]
        return without_secrets(message, [*keys, settings.password or ""])


def _status(body: object) -> Mapping[str, Any]:
    """The error's object of kind Status; empty if the body is something else."""
    try:
        parsed = json.loads(body) if isinstance(body, str | bytes) else body
    except ValueError:
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _date(headers: Mapping[str, str]) -> datetime:
    """The server's clock; ours if a proxy dropped the header."""
    try:
        return parsedate_to_datetime(headers["Date"]).astimezone(UTC)
    except (KeyError, TypeError, ValueError, OverflowError):
        return datetime.now(UTC)


def _one_line(text: object) -> str:
    return " ".join(str(text).split())[:400]
