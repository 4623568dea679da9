"""Access to the pages: users whom Airflow allows to see runs of the DAG `plan`, by Airflow's session."""

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
