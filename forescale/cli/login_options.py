"""The option `--login` of an engine: fields of the section `cluster`, which name secrets and never hold them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from planner.errors import ClusterError

Login = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FIELD=VALUE",
        help="A field of the section `cluster` that logs in: token_env=FLINK_TOKEN, headers_env.X-Team=FLINK_TEAM, "
        "ca_file=/etc/ca.pem, certificate_file, key_file, kubeconfig, context=prod; repeatable.",
    ),
]
PATHS = frozenset({"ca_file", "certificate_file", "key_file", "kubeconfig", "token_file"})
NAMED = "headers_env"
"""Its value is by header."""


def login_fields(texts: Sequence[str]) -> dict[str, Any]:
    """The fields, by name, not validated. Paths become absolute, because the topology file is read from elsewhere.

    Raises ClusterError for a text of another form, and for a field that is given twice. None of it is repeated: whoever
    mistakes the option writes the secret itself into it.
    """
    fields: dict[str, Any] = {}
    headers: dict[str, str] = {}
    for text in texts:
        name, _, value = text.partition("=")
        field, _, header = name.partition(".")
        if not value or (field == NAMED) != bool(header):
            raise ClusterError(
                "--login takes FIELD=VALUE (what was given is not shown); give it like --login token_env=FLINK_TOKEN "
                "or --login headers_env.Authorization=FLINK_LOGIN"
            )
        named = headers if header else fields
        if (header or field) in named:
            raise ClusterError(f"--login gives {name} twice; give each field once")
        named[header or field] = str(Path(value).expanduser().absolute()) if field in PATHS else value
    return fields | ({NAMED: headers} if headers else {})
