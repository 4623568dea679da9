"""What KEDA does with an external scaler, by KEDA's own interface: asks whether to run, and for how many replicas."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

import grpc
import pytest

from forescale.settings import PROJECT

CACHE = PROJECT / ".cache" / "keda"
SERVICE = "externalscaler.ExternalScaler"


def keda_messages(folder: Path) -> dict[str, Any]:
    """Message classes of KEDA's file, in a pool of their own. Skips the test where it is not here; in CI it fails."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    from grpc_tools import protoc

    version = (PROJECT / "tests" / "keda" / "module.txt").read_text(encoding="utf-8").split()[1]
    home = CACHE / version
    if not (home / "externalscaler.proto").is_file():
        reason = f"no interface of KEDA in {home}; run: bash scripts/tools.sh keda"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    out = folder / "externalscaler.binpb"
    code = protoc.main(["", f"--proto_path={home}", f"--descriptor_set_out={out}", "externalscaler.proto"])
    assert code == 0
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()).file:
        pool.Add(file)
    names = re.findall(r"^message (\w+)", (home / "externalscaler.proto").read_text(), re.MULTILINE)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"externalscaler.{name}")) for name in names
    }


@dataclass
class ScaledObject:
    """A ScaledObject whose only trigger is external, and KEDA's loop over it.

    metadata: of the trigger. replicas: that run. minimum: minReplicaCount; idle: idleReplicaCount, None without one.
    other: replicas that another trigger asks for, 0 while it is inactive.
    """

    channel: grpc.Channel
    messages: Mapping[str, Any]
    metadata: Mapping[str, str]
    replicas: int = 0
    minimum: int = 0
    maximum: int = 100
    idle: int | None = None
    other: int = 0

    def call(self, method: str, request: Any, answer: str) -> Any:
        asked = self.channel.unary_unary(
            f"/{SERVICE}/{method}",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=self.messages[answer].FromString,
        )
        return asked(request, timeout=60)

    @property
    def reference(self) -> Any:
        return self.messages["ScaledObjectRef"](name="orders", namespace="shop", scalerMetadata=dict(self.metadata))

    def active(self) -> bool:
        return bool(self.call("IsActive", self.reference, "IsActiveResponse").result)

    def wanted(self) -> int:
        """Replicas by the rule of a HorizontalPodAutoscaler: the metric over its target, rounded up."""
        spec = self.call("GetMetricSpec", self.reference, "GetMetricSpecResponse").metricSpecs[0]
        request = self.messages["GetMetricsRequest"](scaledObjectRef=self.reference, metricName=spec.metricName)
        value = self.call("GetMetrics", request, "GetMetricsResponse").metricValues[0]
        assert value.metricName == spec.metricName
        return ceil(value.metricValueFloat / spec.targetSizeFloat)

    def poll(self) -> int:
        """One turn: KEDA decides between none and some, the autoscaler that it makes how many. Returns the replicas."""
        try:
            wanted, failed = self.wanted(), False  # KEDA asks for the metric first, and not for activity if that fails
            active = self.active()
        except grpc.RpcError:
            wanted, failed, active = 0, True, False
        if active or self.other:
            asked = max(wanted if active else 0, self.other, self.minimum, 1)
            # A metric that fails keeps the autoscaler from scaling down.
            self.replicas = min(max(asked, self.replicas) if failed else asked, self.maximum)
        elif not failed:
            self.replicas = self.minimum if self.idle is None else self.idle
        return self.replicas
