"""Login options for an engine: the fields of the section `cluster`, which names secrets and never holds them."""

from pathlib import Path
from typing import Annotated, Any

import typer

from forescale.files.shown import shown
from planner.errors import ClusterError

TokenEnv = Annotated[str | None, typer.Option(help="Environment variable with a bearer token.")]
TokenFile = Annotated[Path | None, typer.Option(help="File with a bearer token (Flink).")]
HeadersEnv = Annotated[
    list[str] | None,
    typer.Option(help="HEADER=VARIABLE, the environment variable with the header's value; repeatable."),
]
CaFile = Annotated[Path | None, typer.Option(help="Certificates (PEM) that the server's is checked against.")]
CertificateFile = Annotated[Path | None, typer.Option(help="Client certificate (PEM, Flink).")]
KeyFile = Annotated[Path | None, typer.Option(help="Key of the client certificate (PEM, Flink).")]
Kubeconfig = Annotated[Path | None, typer.Option(help="Kubeconfig; what kubectl uses if absent.")]
KubeContext = Annotated[str | None, typer.Option(help="Context of the kubeconfig; the current one if absent.")]


def login_fields(headers_env: list[str] | None, **given: str | Path | None) -> dict[str, Any]:
    """The given fields, by name. Paths become absolute, because the topology file is read from elsewhere.

    Raises ClusterError for a header without a variable.
    """
    fields: dict[str, Any] = {
        name: str(value.expanduser().absolute()) if isinstance(value, Path) else value
        for name, value in given.items()
        if value is not None
    }
    if headers_env:
        fields["headers_env"] = dict(map(_header, headers_env))
    return fields


def _header(text: str) -> tuple[str, str]:
    header, equals, variable = text.partition("=")
    if not (header and equals and variable):
        raise ClusterError(
            f"--headers-env {shown(header)} is not HEADER=VARIABLE; give it like --headers-env "
            "Authorization=FLINK_LOGIN"
        )
    return header, variable
