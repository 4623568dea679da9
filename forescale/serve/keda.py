"""KEDA's external scaler: the planned number of replicas as a metric whose target is 1, so that KEDA asks for as many.

The trigger's metadata name `topology` and `operator`. Beside other triggers the plan is a floor, as KEDA takes the
largest; alone it is the target. Where no plan is known the scaler is inactive and gives no metric, never a number.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from math import isfinite
from typing import Any, NoReturn

import grpc

from engines.keda import externalscaler_pb2 as wire
from forescale.serve.http import Requests
from forescale.serve.plans import EVERY_S, ServedPlans

SERVICE = "externalscaler.ExternalScaler"


class ExternalScaler:
    """The four calls of KEDA. A plan of `activation` instances or fewer (metadata; 0) leaves the workload inactive, so
    that KEDA may scale it to zero.
    """

    def __init__(self, plans: ServedPlans, requests: Requests) -> None:
        self._plans, self._requests = plans, requests

    async def is_active(self, reference: Any, context: Any) -> Any:
        return wire.IsActiveResponse(result=await self._active(reference, context))

    async def stream_is_active(self, reference: Any, context: Any) -> AsyncIterator[Any]:
        """The present answer at once, and each change. Nothing while no plan is known: KEDA would scale to zero at a
        streamed "inactive", and in `metrics` it sees an error instead.
        """
        last: bool | None = None
        while True:
            count = await self._count(reference, context)
            if count is not None and (active := count > await _activation(reference.scalerMetadata, context)) != last:
                last = active
                yield wire.IsActiveResponse(result=active)
            await asyncio.sleep(EVERY_S)

    async def metric_spec(self, reference: Any, context: Any) -> Any:
        name = await self._metric_name(reference, context)
        return wire.GetMetricSpecResponse(
            metricSpecs=[wire.MetricSpec(metricName=name, targetSize=1, targetSizeFloat=1.0)]
        )

    async def metrics(self, request: Any, context: Any) -> Any:
        reference = request.scaledObjectRef
        name = await self._metric_name(reference, context)
        count = await self._count(reference, context)
        if count is None:
            topology, operator = await _names(reference.scalerMetadata, context)
            answer = self._plans.of(topology)
            why = f"the plan has no operator {operator!r}"
            if answer is None or answer.why:
                why = self._plans.unknown(topology) if answer is None else answer.why
            await _refuse(context, grpc.StatusCode.UNAVAILABLE, f"no plan is known: {why}")
        return wire.GetMetricsResponse(
            metricValues=[wire.MetricValue(metricName=name, metricValue=count, metricValueFloat=float(count))]
        )

    async def _active(self, reference: Any, context: Any) -> bool:
        count = await self._count(reference, context)
        return count is not None and count > await _activation(reference.scalerMetadata, context)

    async def _metric_name(self, reference: Any, context: Any) -> str:
        topology, operator = await _names(reference.scalerMetadata, context)
        return f"forescale-{topology}-{operator}"

    async def _count(self, reference: Any, context: Any) -> int | None:
        """Planned instances; None if they are not known."""
        topology, operator = await _names(reference.scalerMetadata, context)
        answer = self._plans.of(topology)
        self._requests.count("keda", answer)
        if answer is None:
            await _refuse(context, grpc.StatusCode.NOT_FOUND, self._plans.unknown(topology))
        if answer.operators and operator not in answer.operators:
            known = ", ".join(answer.operators)
            await _refuse(
                context, grpc.StatusCode.NOT_FOUND, f"topology {topology} has no operator {operator!r}; it has {known}"
            )
        return None if answer.offer is None else answer.offer.parallelism.get(operator)


def handler(scaler: ExternalScaler) -> grpc.GenericRpcHandler:
    def unary(call: Any, asked: Any) -> grpc.RpcMethodHandler:
        return grpc.unary_unary_rpc_method_handler(call, asked.FromString, lambda answer: answer.SerializeToString())

    return grpc.method_handlers_generic_handler(
        SERVICE,
        {
            "IsActive": unary(scaler.is_active, wire.ScaledObjectRef),
            "GetMetricSpec": unary(scaler.metric_spec, wire.ScaledObjectRef),
            "GetMetrics": unary(scaler.metrics, wire.GetMetricsRequest),
            "StreamIsActive": grpc.unary_stream_rpc_method_handler(
                scaler.stream_is_active, wire.ScaledObjectRef.FromString, lambda answer: answer.SerializeToString()
            ),
        },
    )


async def _names(metadata: Mapping[str, str], context: Any) -> tuple[str, str]:
    if lacking := [key for key in ("topology", "operator") if not metadata.get(key)]:
        await _refuse(
            context, grpc.StatusCode.INVALID_ARGUMENT, f"the trigger's metadata lack {lacking[0]!r}; name it there"
        )
    return metadata["topology"], metadata["operator"]


async def _activation(metadata: Mapping[str, str], context: Any) -> float:
    text = metadata.get("activation", "0")
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not isfinite(number) or number < 0:
        await _refuse(
            context,
            grpc.StatusCode.INVALID_ARGUMENT,
            f"metadata.activation is {text[:40]!r}; give a number of 0 or more",
        )
    return number


async def _refuse(context: Any, code: grpc.StatusCode, why: str) -> NoReturn:
    await context.abort(code, why)
    raise AssertionError("abort has not raised")
