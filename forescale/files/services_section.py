"""The section `services` of a topology file whose operators are micro-services."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, field_validator

from forescale.files.bounded_numbers import Positive
from forescale.files.http_access import address_of
from forescale.plain_numbers import PlainNumbers
from modeling.inputs.operator_profile import Profiles
from modeling.services.pools import MAX_THREADS, CallRouting, ServiceTerms, pool_of

Threads = Annotated[int, Field(ge=1, le=MAX_THREADS)]


class ServicesSection(PlainNumbers, BaseModel):
    """threads: requests that one replica of each service serves at a time, as when it was calibrated.
    evaluated_threads: with which `evaluate` predicts saturation, where others. routing: how calls find a replica:
    shared, one that is free if there is any; random, any one. requests: per service, the selector of its histogram or
    summary of request durations, without _count and _sum, such as `http_request_duration_seconds{job="gate"}`. calls:
    per stream, the selector of the caller's counter of its calls; where it is missing, the callee's requests count as
    the calls, which fails where several services call it. replica_label: label that distinguishes replicas. url: of
    Prometheus, by default that of `arrivals`. sample_s: span of the counters that calibration reads.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    threads: dict[str, Threads]
    evaluated_threads: dict[str, Threads] = {}
    routing: CallRouting = CallRouting.SHARED
    requests: dict[str, str]
    calls: dict[str, str] = {}
    replica_label: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] = "instance"
    url: Annotated[str, address_of("a Prometheus server", "http://127.0.0.1:9090")] | None = None
    sample_s: Positive = 600

    @field_validator("requests")
    @classmethod
    def _are_selectors(cls, requests: dict[str, str]) -> dict[str, str]:
        from engines.prometheus.server import selector_with_suffix

        for selector in requests.values():
            selector_with_suffix(selector, "_count")
        return requests

    def terms(self, profiles: Profiles, cores: Mapping[str, float | None], *, evaluated: bool = False) -> ServiceTerms:
        """cores: of one replica, by service; None: no bound. evaluated: with evaluated_threads."""
        pools = {name: pool_of(profiles[name], self.threads[name], cores[name]) for name in profiles}
        if evaluated:
            pools |= {name: replace(pools[name], threads=count) for name, count in self.evaluated_threads.items()}
        return ServiceTerms(pools, self.routing)

    def evaluated(self, profiles: Profiles) -> Profiles:
        """Of replicas with evaluated_threads: a request that holds one of n threads keeps 1/n of its replica busy."""
        found = dict(profiles)
        for name, count in self.evaluated_threads.items():
            part, error_s = self.threads[name] / count, profiles[name].service_s_error
            found[name] = replace(profiles[name].slower(part), service_s_error=error_s * part)
        return found

    def check_names(self, operators: Collection[str], streams: Mapping[str, str]) -> None:
        """streams: the callee of each. Raises ValueError for missing or unknown names."""
        fields: dict[str, Collection[str]] = {
            "threads": self.threads,
            "evaluated_threads": self.evaluated_threads,
            "requests": self.requests,
        }
        for field, named in fields.items():
            if unknown := sorted(set(named) - set(operators)):
                raise ValueError(
                    f"services.{field} names the unknown operator {unknown[0]!r}; known are {', '.join(operators)}"
                )
            if field != "evaluated_threads" and (lacking := [name for name in operators if name not in named]):
                raise ValueError(f"services.{field} gives nothing for {lacking[0]!r}; name every operator")
        if unknown := sorted(set(self.calls) - set(streams)):
            raise ValueError(f"services.calls names the unknown stream {unknown[0]!r}; known are {', '.join(streams)}")
        callees = list(streams.values())
        for stream, callee in streams.items():
            if callees.count(callee) > 1 and stream not in self.calls:
                raise ValueError(
                    f"services.calls gives nothing for {stream}, and several services call {callee!r}; give the "
                    "selector of a counter that the caller keeps of these calls"
                )
