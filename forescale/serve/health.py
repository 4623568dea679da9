"""gRPC's own health protocol, answered of the moment it is asked, so that it never contradicts the plan beside it."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from forescale.serve.keda import SERVICE
from forescale.serve.plans import EVERY_S, ServedPlans


class Health(health_pb2_grpc.HealthServicer):  # type: ignore[misc]  # the library has no types
    """Serving while the ledger was read lately, for the server ("") and for KEDA's service."""

    def __init__(self, plans: ServedPlans) -> None:
        self._plans = plans

    async def Check(self, request: Any, context: Any) -> Any:  # noqa: N802  # gRPC's name
        if (answer := self._answer(request)).status == health_pb2.HealthCheckResponse.SERVICE_UNKNOWN:
            await context.abort(grpc.StatusCode.NOT_FOUND)
        return answer

    async def Watch(self, request: Any, context: Any) -> AsyncIterator[Any]:  # noqa: N802
        """The present answer at once, and each change."""
        last = None
        while True:
            if (answer := self._answer(request)) != last:
                yield answer
            last = answer
            await asyncio.sleep(EVERY_S)

    def _answer(self, request: Any) -> Any:
        answer = health_pb2.HealthCheckResponse
        if request.service not in ("", SERVICE):
            return answer(status=answer.SERVICE_UNKNOWN)
        return answer(status=answer.SERVING if self._plans.fresh else answer.NOT_SERVING)
