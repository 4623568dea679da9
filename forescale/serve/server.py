"""One process for all three interfaces, until a signal ends it."""

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import uvicorn
from grpc_health.v1 import health_pb2_grpc
from prometheus_client import CollectorRegistry

from forescale.local.errors import ServiceError
from forescale.serve.health import Health
from forescale.serve.http import Requests, application
from forescale.serve.keda import ExternalScaler, handler
from forescale.serve.plans import ServedPlans
from forescale.settings import Settings

END_S = 2.0


@dataclass(frozen=True)
class Address:
    host: str
    port: int

    def __str__(self) -> str:
        return f"{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


@dataclass(frozen=True)
class Certificate:
    """PEM files of the server's certificate, with its chain, and of its key."""

    chain: Path
    key: Path


class _Quiet(uvicorn.Server):
    """Signals are handled for both servers together."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def serve(
    settings: Settings, http: Address, keda: Address, certificate: Certificate | None, say: Callable[[str], None]
) -> None:
    """Serve until SIGINT or SIGTERM. Port 0: any free one; `say` gets the addresses. Raises ServiceError for an address
    or a certificate that cannot be used.
    """
    with ServedPlans(settings) as plans:
        asyncio.run(_serve(plans, http, keda, certificate, say))


async def _serve(
    plans: ServedPlans, http: Address, keda: Address, certificate: Certificate | None, say: Callable[[str], None]
) -> None:
    registry = CollectorRegistry()
    requests = Requests(registry)
    tls: dict[str, Any] = {}
    if certificate is not None:
        tls = {"ssl_certfile": str(certificate.chain), "ssl_keyfile": str(certificate.key)}
    config = uvicorn.Config(
        application(plans, requests, registry), log_level="warning", access_log=False, lifespan="off", **tls
    )
    with _bound(http) as listening:
        try:
            config.load()
        except OSError as error:  # ssl.SSLError is one
            raise ServiceError(
                f"the certificate cannot be used: {error}; give PEM files that belong together"
            ) from None
        scaler = grpc.aio.server()
        scaler.add_generic_rpc_handlers((handler(ExternalScaler(plans, requests)),))
        health_pb2_grpc.add_HealthServicer_to_server(Health(plans), scaler)
        port = _added(scaler, keda, certificate)
        await scaler.start()
        web = _Quiet(config)
        stop = asyncio.Event()
        for each in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(each, stop.set)
        scheme = "http" if certificate is None else "https"
        at = Address(http.host, listening.getsockname()[1])
        say(f"plans: {scheme}://{at}/plan, metrics: {scheme}://{at}/metrics, KEDA: {Address(keda.host, port)}")
        serving = asyncio.create_task(web.serve(sockets=[listening]))
        stopped = asyncio.create_task(stop.wait())
        await asyncio.wait((serving, stopped), return_when=asyncio.FIRST_COMPLETED)
        await scaler.stop(END_S)
        web.should_exit = web.force_exit = True
        await serving


@contextlib.contextmanager
def _bound(address: Address) -> Iterator[socket.socket]:
    try:
        listening = socket.create_server(
            (address.host, address.port),
            family=socket.AF_INET6 if ":" in address.host else socket.AF_INET,
        )
    except OSError as error:
        raise ServiceError(f"{address} cannot be listened on: {error.strerror}; give another address") from None
    with listening:
        yield listening


def _added(scaler: grpc.aio.Server, address: Address, certificate: Certificate | None) -> int:
    """The port. Several servers on one would take turns."""
    with _bound(address) as probe:
        port: int = probe.getsockname()[1]
    at = str(Address(address.host, port))
    try:
        if certificate is None:
            return int(scaler.add_insecure_port(at))
        pair = certificate.key.read_bytes(), certificate.chain.read_bytes()
        return int(scaler.add_secure_port(at, grpc.ssl_server_credentials([pair])))
    except RuntimeError as error:
        raise ServiceError(f"{at} cannot be listened on: {error}; give another address") from None
