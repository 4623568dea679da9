"""Who may see the pages: whoever Airflow lets see the runs of the DAG `plan`, by its own session."""

from typing import Any
from urllib.parse import quote, urlencode

from fastapi import Depends, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException

from forescale.web.addresses import below_airflow

LOGIN = "/api/v2/auth/login"
UNAUTHENTICATED = 401
UNAVAILABLE = 503


def viewers() -> Any:
    """What every page depends on: 401 without a session, 403 where no role of the user lets them see those runs."""
    from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
    from airflow.api_fastapi.core_api.security import requires_access_dag

    return Depends(requires_access_dag("GET", DagAccessEntity.RUN, param_dag_id="plan"))


async def refused(request: Request, error: Exception) -> Response:
    """A browser without a session is sent to Airflow's login, and from there back to the page; all else is told why."""
    assert isinstance(error, HTTPException)
    if error.status_code == UNAUTHENTICATED and "text/html" in request.headers.get("accept", ""):
        asked = urlencode({"next": asked_address(request)})
        return RedirectResponse(f"{below_airflow(LOGIN)}?{asked}", status_code=302)
    return JSONResponse({"detail": error.detail}, status_code=error.status_code, headers=error.headers)


def asked_address(request: Request) -> str:
    """Path and query, of this host whatever they hold. The host is left out: behind a proxy the server does not know
    under which name it was asked.
    """
    # Two slashes at its begin would name another host.
    path = "/" + quote(request.scope["path"].lstrip("/\\"))
    query = request.scope["query_string"].decode("latin-1")
    return f"{path}?{query}" if query else path


async def unreadable(_request: Request, error: Exception) -> Response:
    """A ledger that cannot be asked at all: what is wrong, and the remedy."""
    return JSONResponse({"detail": str(error)}, status_code=UNAVAILABLE)
