"""The pages as Airflow's API server mounts them."""

from functools import cache

from fastapi import FastAPI
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from forescale.settings import Settings
from forescale.situation.workspace import Workspace
from forescale.web.access import refused, unreadable, viewers
from forescale.web.drawn import drawn_history, known_topology, overview, topology_page
from forescale.web.guarded import page, picture
from forescale.web.stored import decision_file, forecast_file, replay_file
from planner.errors import LedgerError
from planner.ledger.ledger import Ledger

opened_once = cache(Ledger)
"""The tables of a ledger are checked once per process, not for each page."""


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
