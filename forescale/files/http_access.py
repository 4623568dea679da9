"""Login and certificates for a server over HTTP, in a section of a topology file."""

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import AfterValidator, BaseModel, Field, SecretStr, model_validator

from engines.address import is_http_address
from forecasting.bounded_file import bounded_text
from forescale.files.bounded_numbers import Timeout
from forescale.plain_numbers import PlainNumbers

if TYPE_CHECKING:
    from engines.http import Connection

MAX_TOKEN_BYTES = 64 << 10

HeaderName = Annotated[str, Field(pattern=r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")]


def _is_a_name(name: str) -> str:
    """Raises ValueError, without repeating it: whoever mistakes the field writes the secret itself into it."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ValueError(
            "is no name of an environment variable (it is not shown); give the name, not the secret itself"
        )
    return name


EnvironmentVariable = Annotated[
    str, AfterValidator(_is_a_name), Field(json_schema_extra={"pattern": "^[A-Za-z_][A-Za-z0-9_]*$"})
]

AbsolutePath = Annotated[str, Field(pattern="^/")]


def http_address(url: str, of: str, example: str) -> str:
    """The same address. Raises ValueError if it is not one, without repeating it: it may hold a password.

    of: the server's name in the message.
    """
    if not is_http_address(url):
        raise ValueError(f"is no address of {of}; give it like {example}")
    return url


def address_of(server: str, example: str) -> AfterValidator:
    """Checks a field by `http_address`."""
    return AfterValidator(lambda url: http_address(url, server, example))


class HttpAccess(PlainNumbers, BaseModel):
    """token_env: environment variable that holds a bearer token. headers_env: header → environment variable that holds
    its value. ca_file: absolute path of PEM certificates to check the server's against, instead of the system's.
    """

    token_env: EnvironmentVariable | None = None
    headers_env: dict[HeaderName, EnvironmentVariable] = {}
    ca_file: AbsolutePath | None = None
    timeout_s: Timeout = 30

    @model_validator(mode="after")
    def _authorizes_once(self) -> Self:
        if self.token_env is not None and any(name.lower() == "authorization" for name in self.headers_env):
            raise ValueError("headers_env gives Authorization, and so does token_env; leave one of them out")
        return self

    def headers(self) -> dict[str, SecretStr]:
        """Headers of every request. Raises ValueError if the environment lacks one or holds an invalid header value."""
        headers = {name: _sent(variable) for name, variable in self.headers_env.items()}
        if self.token_env is not None:
            headers["Authorization"] = SecretStr(f"Bearer {_sent(self.token_env).get_secret_value()}")
        return headers

    def connection(self) -> "Connection":
        """Raises ValueError if the environment lacks a header."""
        from engines.http import Connection

        return Connection(headers=self.headers(), ca_file=self.ca_file, timeout_s=self.timeout_s)


class MutualAccess(HttpAccess):
    """token_file: absolute path of a file that holds a bearer token; each command reads it again, so the token may be
    rotated. certificate_file, key_file: absolute paths of the client certificate and its key in PEM.
    """

    token_file: AbsolutePath | None = None
    certificate_file: AbsolutePath | None = None
    key_file: AbsolutePath | None = None

    @model_validator(mode="after")
    def _has_one_token_and_a_certificate_of_its_key(self) -> Self:
        sent = [name for name in self.headers_env if name.lower() == "authorization"]
        if self.token_file is not None and (sent or self.token_env is not None):
            other = "headers_env" if sent else "token_env"
            raise ValueError(f"token_file gives Authorization, and so does {other}; leave one of them out")
        if self.key_file is not None and self.certificate_file is None:
            raise ValueError("key_file needs certificate_file; give both")
        return self

    def headers(self) -> dict[str, SecretStr]:
        """Headers of every request. Raises ValueError if the environment or the file lacks one."""
        headers = super().headers()
        if self.token_file is not None:
            headers["Authorization"] = SecretStr(f"Bearer {_token(Path(self.token_file))}")
        return headers

    def connection(self) -> "Connection":
        """Raises ValueError if the environment or the file lacks a secret."""
        from engines.http import Connection

        shown = Connection(certificate_file=self.certificate_file, key_file=self.key_file)
        return super().connection() | shown


def _token(path: Path) -> str:
    try:
        token = bounded_text(path, MAX_TOKEN_BYTES, encoding="ascii").strip()
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it holds more than ASCII"
        raise ValueError(f"token_file {path} cannot be read: {reason}; write the token into it") from None
    if len(token.split()) != 1:
        raise ValueError(
            f"token_file {path} holds {len(token.split())} words; write the token into it, and nothing else"
        )
    if not token.isprintable():
        raise ValueError(
            f"token_file {path} holds more than printable ASCII; write the token into it, and nothing else"
        )
    return token


def _sent(variable: str) -> SecretStr:
    """The header value that a variable holds. HTTP headers are single lines of ASCII."""
    value = secret(variable).get_secret_value().strip()
    if not (value and value.isascii() and value.isprintable()):
        raise ValueError(
            f"the environment variable {_named(variable)} is sent as a header, and is empty or not one line of "
            "printable ASCII; correct it"
        )
    return SecretStr(value)


def secret(variable: str) -> SecretStr:
    """The value of an environment variable. Raises ValueError if it is not set."""
    if variable not in os.environ:
        raise ValueError(f"the environment variable {_named(variable)}, which should hold a secret, is not set; set it")
    return SecretStr(os.environ[variable])


def _named(variable: str) -> str:
    """The name if it is set or written as names of variables are; a secret in its place is not shown.

    >>> _named("SHOP_TOKEN"), _named("ghp_16C7e42F292c6912E7")
    ('SHOP_TOKEN', '(not shown, as it may be the secret itself)')
    """
    usual = variable in os.environ or (variable.isupper() and not re.search(r"[0-9]{4}", variable))
    return variable if usual else "(not shown, as it may be the secret itself)"
