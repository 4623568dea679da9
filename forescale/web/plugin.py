"""The plugin by which Airflow serves *Scaling*: found by the entry point `airflow.plugins`."""

from functools import cache
from typing import Any

from airflow.plugins_manager import AirflowPlugin

from forescale.web.addresses import PREFIX, below_airflow, overview_path


@cache
def _app() -> Any:
    from forescale.web.app import scaling_app

    return scaling_app()


async def pages(scope: Any, receive: Any, send: Any) -> None:
    """The ASGI application. Imports inside: Airflow loads plugins in every process, only the API server draws pages."""
    await _app()(scope, receive, send)


class ScalingPlugin(AirflowPlugin):
    """*Scaling* in Airflow's navigation."""

    name = "forescale"
    fastapi_apps = ({"app": pages, "url_prefix": PREFIX, "name": "forescale"},)
    external_views = [  # noqa: RUF012 - Airflow removes entries that it cannot show
        {
            "name": "Scaling",
            "href": below_airflow(overview_path()),
            "destination": "nav",
            "url_route": "scaling",
            "nav_top_level": True,
        }
    ]
