"""The object store client: one per process, from the usual AWS settings, with readable errors.

Endpoint, region, credentials and certificates come from the environment (`AWS_…`) and the AWS files. Messages and logs
never contain credentials.
"""

import logging
import os
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, TypeVar

from engines.bounded_answer import TooLargeError, bounded
from engines.deadline import waiting, within
from engines.redaction import as_quoted, without_credentials, without_secrets
from forecasting.arrivals.storage.directory import S3Directory
from forecasting.errors import HistoryStoreError

# At most two attempts per call, so that a store that is down is reported within ten seconds.
_CONNECT_S, _READ_S, _ATTEMPTS = 4, 5, 2
ANSWER_S = 9.0
"""Longest time of a call, repeats included, however slowly bytes come."""
CHUNK_BYTES = 2**18
"""Bytes that must come, or be taken, in each further ANSWER_S."""
CONNECTIONS = 8
"""Objects that one reader reads concurrently."""
_CONDITION_FAILED = ("PreconditionFailed", "ConditionalRequestConflict")
LATE = {"IfNoneMatch": _CONDITION_FAILED, "IfMatch": (*_CONDITION_FAILED, "NoSuchKey")}
"""Error codes of a put whose condition does not hold; an object whose version is asked for may have gone."""
_REGION = "us-east-1"
_KEYS = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
_RIGHTS = "the keys need s3:ListBucket, s3:GetObject, s3:PutObject and s3:DeleteObject there"
_REMEDIES = {
    "NoSuchBucket": "create the bucket, or correct history_uri",
    "AccessDenied": f"{_RIGHTS}; give them, or other keys",
    "InvalidAccessKeyId": _KEYS,
    "SignatureDoesNotMatch": _KEYS,
    "ExpiredToken": "renew the credentials",
    "RequestTimeTooSkewed": "set this machine's clock by NTP",
    "PermanentRedirect": "set AWS_REGION to the bucket's region",
    "AuthorizationHeaderMalformed": "set AWS_REGION to the bucket's region",
    "NotImplemented": "use a store that honours conditional puts (If-Match, If-None-Match)",
}
_ELSE = "see whether it speaks S3 and what it logs, or correct AWS_ENDPOINT_URL_S3 or the keys"

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class _Connection:
    client: Any
    session: Any

    def secrets(self) -> list[str]:
        from botocore.exceptions import BotoCoreError

        try:
            credentials = self.session.get_credentials()
            frozen = None if credentials is None else credentials.get_frozen_credentials()
        except BotoCoreError:
            frozen = None  # fetching them failed, which is the error to report
        if frozen is None:
            return []
        return as_quoted([secret for secret in (frozen.secret_key, frozen.token) if secret])


def answer_of(
    directory: S3Directory, ask: Callable[[Any], Answer], *, sent_bytes: int = 0, expected: Collection[str] = ()
) -> Answer:
    """The result of `ask` called with the client. sent_bytes: of the request's body.

    Raises HistoryStoreError if the store does not answer or refuses. Error codes in `expected` are raised unchanged
    (botocore's ClientError), for `refusal_code`.
    """
    connection = _connected(directory)
    from botocore.exceptions import BotoCoreError, ClientError
    from botocore.parsers import ResponseParserError

    most_s = ANSWER_S * (1 + sent_bytes // CHUNK_BYTES)
    try:
        with waiting(f"the object store of {directory}", most_s):
            return within(most_s, lambda: ask(connection.client))
    except TimeoutError:
        remedy = "see whether it or the network is overloaded, or correct AWS_ENDPOINT_URL_S3"
        raise _store_error(directory, connection, f"did not answer within {most_s:g} s", remedy) from None
    except TooLargeError as error:
        raise foreign_answer(directory, str(error)) from None
    except RecursionError:  # botocore asks for the bucket's region after each redirection
        raise foreign_answer(directory, "redirects each request") from None
    except ResponseParserError:
        raise foreign_answer(directory, "answers in a shape that no object store has") from None
    except ClientError as error:
        code = refusal_code(error)
        if code in expected:
            raise
        cause = f"{code}: {error.response.get('Error', {}).get('Message', '')}"
        remedy = _REMEDIES.get(code, _ELSE)
        raise _store_error(directory, connection, f"refuses ({cause})", remedy) from None
    except BotoCoreError as error:
        if "Credential" in type(error).__name__:
            raise _store_error(directory, connection, f"is not asked ({error})", _KEYS) from None
        remedy = "start it, or correct AWS_ENDPOINT_URL_S3"
        raise _store_error(directory, connection, f"does not answer ({error})", remedy) from None
    except (ValueError, LookupError, TypeError):  # of botocore's parsers
        raise foreign_answer(directory, "answers with values that no object store has") from None


def foreign_answer(directory: S3Directory, what: str) -> HistoryStoreError:
    """The error for an answer that no object store gives."""
    remedy = "a proxy or a login page may stand in its place: sign in there, or correct AWS_ENDPOINT_URL_S3"
    return _store_error(directory, _connected(directory), what, remedy)


def refusal_code(error: Exception) -> str:
    """S3's error code of a refusal; empty for any other error."""
    response: dict[str, Any] = getattr(error, "response", {})
    return str(response.get("Error", {}).get("Code", ""))


def _connected(directory: S3Directory) -> _Connection:
    try:
        import botocore.exceptions
    except ImportError:
        raise HistoryStoreError(
            f"history in {directory}: botocore is not installed; install forescale with the extra `s3`"
        ) from None
    try:
        return _connection(os.getpid())
    except (botocore.exceptions.BotoCoreError, ValueError) as error:
        # Never show an invalid address: it may contain a password.
        known = isinstance(error, botocore.exceptions.BotoCoreError)
        cause = without_secrets(str(error), ()) if known else "the endpoint is not valid, or has a login"
        raise HistoryStoreError(
            f"history in {directory}: the settings of AWS cannot be used ({cause}); correct AWS_ENDPOINT_URL_S3, "
            "AWS_REGION, AWS_PROFILE or the files of AWS"
        ) from None


@lru_cache(maxsize=1)
def _connection(process: int) -> _Connection:
    """One per process: a child sharing its parent's connections would read the parent's answers."""
    import botocore.session
    from botocore.config import Config

    # At lower levels they log what requests are signed with.
    logging.getLogger("botocore").setLevel(logging.WARNING)
    session = botocore.session.Session()
    region = session.get_config_variable("region") or os.environ.get("AWS_REGION") or _REGION
    config = Config(
        connect_timeout=_CONNECT_S,
        read_timeout=_READ_S,
        retries={"mode": "standard", "total_max_attempts": _ATTEMPTS},
        max_pool_connections=CONNECTIONS,
        # No further checksums: part names are digests, manifests contain theirs, and not every store accepts more.
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
    )
    client = session.create_client("s3", region_name=region, config=config)
    if "@" in str(client.meta.endpoint_url):
        raise ValueError("endpoint with a login")
    client.meta.events.register("before-send.s3", partial(_sent, client._endpoint.http_session))
    return _Connection(client, session)


def _sent(http: Any, request: Any, **_: object) -> Any:
    """The answer to a request, read up to MAX_ANSWER_BYTES; botocore would read all of it. The body of an object stays
    to be read by the caller.
    """
    from botocore.awsrequest import AWSResponse
    from botocore.exceptions import ResponseStreamingError
    from urllib3.exceptions import HTTPError

    of_an_object, request.stream_output = request.stream_output, True
    response = http.send(request)
    if of_an_object and response.status_code < 300:
        return response
    try:
        content = b"".join(bounded(response.raw.stream(CHUNK_BYTES), response.raw.close))
    except HTTPError as error:
        raise ResponseStreamingError(error=error) from error
    return AWSResponse(response.url, response.status_code, response.headers, _Whole(content))


@dataclass(frozen=True)
class _Whole:
    content: bytes

    def stream(self) -> Iterator[bytes]:
        yield self.content


def _store_error(directory: S3Directory, connection: _Connection, what: str, remedy: str) -> HistoryStoreError:
    endpoint = str(connection.client.meta.endpoint_url)
    what = without_secrets(what.replace(endpoint, without_credentials(endpoint)), connection.secrets())
    return HistoryStoreError(
        f"history in {directory}: the object store at {without_credentials(endpoint)} {what}; {remedy}"
    )
