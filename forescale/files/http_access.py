"""How a section of a topology file says as whom a server is asked over HTTP, and which certificates it is known by."""

import os
from typing import Annotated, Self

from pydantic import BaseModel, Field, SecretStr, model_validator

from engines.http import Connection

HeaderName = Annotated[str, Field(pattern=r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")]
EnvironmentVariable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class HttpAccess(BaseModel):
    """token_env: environment variable that holds a bearer token. headers_env: header → environment variable that holds
    what is sent in it. ca_file: absolute path of certificates in PEM that the server's is checked against, in place of
    the known ones.
    """

    token_env: EnvironmentVariable | None = None
    headers_env: dict[HeaderName, EnvironmentVariable] = {}
    ca_file: Annotated[str, Field(pattern="^/")] | None = None
    timeout_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 30

    @model_validator(mode="after")
    def _authorizes_once(self) -> Self:
        if self.token_env is not None and any(name.lower() == "authorization" for name in self.headers_env):
            raise ValueError("headers_env gives Authorization, and so does token_env; leave one of them out")
        return self

    def headers(self) -> dict[str, SecretStr]:
        """Of every request. Raises ValueError where the environment lacks one."""
        headers = {name: secret(variable) for name, variable in self.headers_env.items()}
        if self.token_env is not None:
            headers["Authorization"] = SecretStr(f"Bearer {secret(self.token_env).get_secret_value()}")
        return headers

    def connection(self) -> Connection:
        """Raises ValueError where the environment lacks a header."""
        return Connection(headers=self.headers(), ca_file=self.ca_file, timeout_s=self.timeout_s)


def secret(variable: str) -> SecretStr:
    """What the environment holds. Raises ValueError where it lacks it."""
    if variable not in os.environ:
        raise ValueError(f"the environment holds no {variable}, which the topology file names; set it")
    return SecretStr(os.environ[variable])
