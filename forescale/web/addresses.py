"""Addresses of the pages of *Scaling*, without the host, so that they work on any machine."""

from urllib.parse import quote, urlsplit

PREFIX = "/scaling"


def below_airflow(path: str) -> str:
    """The path below Airflow's own (`[api] base_url`), which may not be `/`."""
    from airflow.configuration import conf

    return urlsplit(str(conf.get("api", "base_url", fallback="/"))).path.rstrip("/") + path


def overview_path() -> str:
    """Path of the page of all topologies, below Airflow."""
    return f"{PREFIX}/"


def topology_path(topology: str, page: str = "") -> str:
    """Path of one topology, or of one of its pages, below Airflow."""
    return f"{PREFIX}/topologies/{_part(topology)}" + (f"/{page}" if page else "")


def forecast_path(topology: str, source: str) -> str:
    """Path of the page on a source's forecasts, below Airflow. A source may have any name, even `..`."""
    return f"{topology_path(topology, 'forecasts')}?source={_part(source)}"


def decision_path(topology: str, schedule_id: str) -> str:
    """Path of the report of one decision, below Airflow."""
    return topology_path(topology, f"decisions/{_part(schedule_id)}")


def picture_path(topology: str, schedule_id: str) -> str:
    """Path of the picture of a decision, below Airflow."""
    return f"{decision_path(topology, schedule_id)}/picture.svg"


def _part(name: str) -> str:
    return quote(name, safe="")
