"""Where each page of *Scaling* is: addresses begin at the host, so that they hold on whatever machine they open."""

from urllib.parse import quote, urlsplit

PREFIX = "/scaling"


def below_airflow(path: str) -> str:
    """The path below Airflow's own (`[api] base_url`), where it is served below another path than `/`."""
    from airflow.configuration import conf

    return urlsplit(str(conf.get("api", "base_url", fallback="/"))).path.rstrip("/") + path


def overview_path() -> str:
    """Of all topologies, below Airflow."""
    return f"{PREFIX}/"


def topology_path(topology: str, page: str = "") -> str:
    """Of one topology, or of one of its pages, below Airflow."""
    return f"{PREFIX}/topologies/{_part(topology)}" + (f"/{page}" if page else "")


def forecast_path(topology: str, source: str) -> str:
    """Of what the forecasts of a source were worth, below Airflow. A source may be called anything, `..` too."""
    return f"{topology_path(topology, 'forecasts')}?source={_part(source)}"


def decision_path(topology: str, schedule_id: str) -> str:
    """Of the report of one decision, below Airflow."""
    return topology_path(topology, f"decisions/{_part(schedule_id)}")


def picture_path(topology: str, schedule_id: str) -> str:
    """Of what came, what comes and the capacity as a picture, below Airflow."""
    return f"{decision_path(topology, schedule_id)}/picture.svg"


def _part(name: str) -> str:
    return quote(name, safe="")
