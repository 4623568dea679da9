"""Plans over HTTP: a document for each topology, metrics for Prometheus, and whether the server is alive and ready."""

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from forescale.serve.plans import Answer, ServedPlans


class Requests:
    """Counts of what was asked, by interface and by whether a plan was known."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._counter = Counter(
            "forescale_serve_requests",
            "Requests for a plan, by interface and answer.",
            ("interface", "answer"),
            registry=registry,
        )

    def count(self, interface: str, answer: Answer | None) -> None:
        known = "no topology" if answer is None else "plan" if answer.offer is not None else "unknown"
        self._counter.labels(interface, known).inc()


def application(plans: ServedPlans, requests: Requests, registry: CollectorRegistry) -> Starlette:
    registry.register(_Planned(plans))

    async def every_plan(_: Request) -> Response:
        return JSONResponse({"topologies": [answer.document() for answer in plans.all()]})

    async def plan(request: Request) -> Response:
        name = request.path_params["topology"]
        answer = plans.of(name)
        requests.count("http", answer)
        if answer is None:
            return JSONResponse({"topology": name, "plan": None, "why": plans.unknown(name)}, status_code=404)
        return JSONResponse(answer.document(), status_code=200 if answer.offer is not None else 503)

    async def metrics(_: Request) -> Response:
        text: bytes = generate_latest(registry)  # type: ignore[no-untyped-call]
        return Response(text, media_type=CONTENT_TYPE_LATEST)

    async def alive(_: Request) -> Response:
        return PlainTextResponse("alive\n")

    async def ready(_: Request) -> Response:
        if plans.fresh:
            return PlainTextResponse("ready\n")
        return PlainTextResponse("the ledger was not read lately\n", status_code=503)

    return Starlette(
        routes=[
            Route("/plan", every_plan),
            Route("/plan/{topology}", plan),
            Route("/metrics", metrics),
            Route("/healthz", alive),
            Route("/readyz", ready),
        ]
    )


class _Planned(Collector):
    """What is not known has no sample."""

    def __init__(self, plans: ServedPlans) -> None:
        self._plans = plans

    def collect(self) -> Iterator[Metric]:
        planned = GaugeMetricFamily(
            "forescale_planned_parallelism",
            "Instances of the approved plan that is in effect.",
            labels=("topology", "operator"),
        )
        until = GaugeMetricFamily(
            "forescale_planned_until_timestamp_seconds",
            "Until when the plan in effect is known.",
            labels=("topology",),
            unit="seconds",
        )
        known = GaugeMetricFamily(
            "forescale_plan_known", "1 where a plan is in effect, 0 where nothing is known.", labels=("topology",)
        )
        for answer in self._plans.all():
            known.add_metric([answer.topology], float(answer.offer is not None))
            if answer.offer is not None:
                until.add_metric([answer.topology], answer.offer.until.timestamp())
                for operator, count in answer.offer.parallelism.items():
                    planned.add_metric([answer.topology, operator], count)
        yield from (planned, until, known)
