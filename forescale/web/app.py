"""The pages as Airflow's API server mounts them."""

import html
import re
from functools import cache
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import Depends, FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException

from forescale.settings import Settings
from forescale.situation.workspace import Workspace
from forescale.web.addresses import below_airflow
from forescale.web.drawn import drawn_history, known_topology, overview, topology_page
from forescale.web.stored import decision_file, forecast_file, replay_file
from planner.errors import LedgerError
from planner.ledger.ledger import Ledger

opened_once = cache(Ledger)
"""The tables of a ledger are checked once per process, not for each page."""

LOGIN = "/api/v2/auth/login"
UNAUTHENTICATED = 401
UNAVAILABLE = 503

ABOUT = 4000
"""Number of leading characters in which our pages state their policy."""
OWN_POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')
OURS = re.compile(
    r"default-src 'none'; script-src( 'sha256-[A-Za-z0-9+/]{43}=')+; style-src 'unsafe-inline'; "
    r"img-src( 'self'| data:| blob:)+; base-uri 'none'; form-action 'none'"
)
NOTHING = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; sandbox"
"""Policy of pages that do not state one of ours: they are shown, and nothing in them runs."""
FRAMED = "frame-ancestors 'self'"
"""Airflow embeds the pages."""
HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}


def scaling_app() -> FastAPI:
    """The app. Every page needs the right to see the runs of `plan`; there are no pages of API documentation."""
    app = FastAPI(title="forescale", dependencies=[viewers()], docs_url=None, redoc_url=None, openapi_url=None)
    app.add_exception_handler(HTTPException, refused)
    app.add_exception_handler(LedgerError, unreadable)

    @app.get("/")
    def all_topologies() -> Response:
        workspace = Workspace(Settings(), opened_once)
        return page(overview(workspace))

    @app.get("/topologies/{topology}")
    def one_topology(topology: str) -> Response:
        workspace = Workspace(Settings(), opened_once)
        return page(topology_page(workspace, topology))

    @app.get("/topologies/{topology}/history")
    def history(topology: str) -> Response:
        workspace = Workspace(Settings(), opened_once)
        return page(drawn_history(workspace, topology))

    @app.get("/topologies/{topology}/forecasts")
    def forecasts(topology: str, source: str) -> Response:
        workspace = Workspace(Settings(), opened_once)
        known_topology(workspace, topology)
        return page(forecast_file(workspace, topology, source))

    @app.get("/topologies/{topology}/replay")
    def replay(topology: str) -> Response:
        workspace = Workspace(Settings(), opened_once)
        known_topology(workspace, topology)
        return page(replay_file(workspace, topology))

    @app.get("/topologies/{topology}/decisions/{schedule_id}")
    def decision(topology: str, schedule_id: str) -> Response:
        workspace = Workspace(Settings(), opened_once)
        return page(decision_file(workspace, topology, schedule_id, ".html"))

    @app.get("/topologies/{topology}/decisions/{schedule_id}/picture.svg")
    def decision_picture(topology: str, schedule_id: str) -> Response:
        workspace = Workspace(Settings(), opened_once)
        return picture(decision_file(workspace, topology, schedule_id, ".svg"))

    return app


def viewers() -> Any:
    """The dependency of every page: 401 without a session, 403 if no role of the user may see those runs."""
    from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
    from airflow.api_fastapi.core_api.security import requires_access_dag

    return Depends(requires_access_dag("GET", DagAccessEntity.RUN, param_dag_id="plan"))


async def refused(request: Request, error: Exception) -> Response:
    """Redirect a browser without a session to Airflow's login and back; answer all others with the reason."""
    assert isinstance(error, HTTPException)
    if error.status_code == UNAUTHENTICATED and "text/html" in request.headers.get("accept", ""):
        asked = urlencode({"next": asked_address(request)})
        return RedirectResponse(f"{below_airflow(LOGIN)}?{asked}", status_code=302)
    return JSONResponse({"detail": error.detail}, status_code=error.status_code, headers=error.headers)


def asked_address(request: Request) -> str:
    """Path and query of the request, always relative to this host. The host itself is left out: behind a proxy the
    server does not know its public name.
    """
    # Two leading slashes would name another host.
    path = "/" + quote(request.scope["path"].lstrip("/\\"))
    query = request.scope["query_string"].decode("latin-1")
    return f"{path}?{query}" if query else path


async def unreadable(_request: Request, error: Exception) -> Response:
    """The answer if the ledger cannot be read at all: the error and the remedy."""
    return JSONResponse({"detail": str(error)}, status_code=UNAVAILABLE)


def page(text: str) -> Response:
    """An HTML page. Its scripts run if the page states their hashes in our pages' form; a page with a wider policy may
    do nothing at all.
    """
    said = OWN_POLICY.search(text[:ABOUT])
    own = html.unescape(said[1]) if said else ""
    policy = own if OURS.fullmatch(own) else NOTHING
    return HTMLResponse(text, headers={**HEADERS, "Content-Security-Policy": f"{policy}; {FRAMED}"})


def picture(text: str) -> Response:
    """An SVG, alone or within a page; nothing in it runs."""
    headers = {**HEADERS, "Content-Security-Policy": f"{NOTHING}; {FRAMED}"}
    return Response(text, media_type="image/svg+xml", headers=headers)
