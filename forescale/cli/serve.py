"""`forescale serve`: the plan of now for the scalers that people already run."""

from pathlib import Path
from typing import Annotated

import typer

from forescale.cli.installation import settings_of
from forescale.local.errors import ServiceError
from forescale.local.servers import lacking_modules


def serve(
    context: typer.Context,
    http: Annotated[str, typer.Option(metavar="HOST:PORT", help="Where to answer HTTP.")] = "127.0.0.1:8723",
    keda: Annotated[str, typer.Option(metavar="HOST:PORT", help="Where to answer KEDA.")] = "127.0.0.1:8724",
    certificate: Annotated[
        Path | None, typer.Option(help="PEM file of the certificate and its chain, for TLS.")
    ] = None,
    key: Annotated[Path | None, typer.Option(help="PEM file of its key.")] = None,
) -> None:
    """Offer the approved plan of now to KEDA, HTTP and Prometheus.

    Until Ctrl-C; deploys nothing.
    """
    if lacking := lacking_modules():
        raise ServiceError(
            f"module {lacking[0]} is missing; install the extra: pip install --find-links dist 'forescale[serve]'"
        )
    from forescale.serve.server import Address, Certificate
    from forescale.serve.server import serve as run

    def address(option: str, text: str) -> Address:
        host, _, port = text.rpartition(":")
        if not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
            raise ServiceError(f"{option} {text!r} is no address; give it like 127.0.0.1:8723")
        return Address(host.removeprefix("[").removesuffix("]"), int(port))

    if (certificate is None) != (key is None):
        raise ServiceError("--certificate and --key belong together; give both, or neither")
    pair = None
    if certificate is not None and key is not None:
        for option, path in (("--certificate", certificate), ("--key", key)):
            if not path.is_file():
                raise ServiceError(f"{option} {path}: there is no such file; check the path")
        pair = Certificate(certificate, key)
    run(settings_of(context), address("--http", http), address("--keda", keda), pair, typer.echo)
