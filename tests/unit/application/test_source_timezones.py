"""`sources` of a topology file: whose clock the days of a source go by, and what the forecast job makes of it."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from arrival_series import web_requests
from integration.airflow.day_and_night import TOPOLOGY

from forecasting.arrivals.history import ArrivalHistory
from forescale.files.file_error import FileError
from forescale.files.topology import TopologyConfig, read_topology_file
from forescale.jobs.forecast import Wanted, wanted_forecast
from forescale.jobs.forecast_request import ForecastRequest
from forescale.settings import Settings
from forescale.situation.workspace import Workspace

SERIES = web_requests(days=3)


def read(folder: Path, sources: dict[str, Any]) -> TopologyConfig:
    path = folder / "topology.yaml"
    path.write_text(yaml.safe_dump(yaml.safe_load(TOPOLOGY) | {"sources": sources}))
    return read_topology_file(path)


def wanted(folder: Path, sources: dict[str, Any]) -> Wanted:
    request = ForecastRequest.of(read(folder, sources), SERIES.end, "")
    history = ArrivalHistory("day-and-night", {"receive": SERIES}).in_local_time(request.timezones)
    return wanted_forecast(Workspace(Settings(home=folder, topologies=folder)), request, history, "receive")


@pytest.mark.parametrize("name", ["Europe/Berln", "", "+01:00"])
def test_a_time_zone_that_is_not_known__is_refused_with_field_value_and_remedy(tmp_path: Path, name: str) -> None:
    told = rf"topology\.yaml: sources\.receive\.timezone: .*'{name.replace('+', '.')}' is not known; give an IANA name"
    with pytest.raises(FileError, match=told):
        read(tmp_path, {"receive": {"timezone": name}})


def test_an_operator_that_is_no_source__has_no_clock(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="sources names 'work', which is no source of the topology; they are receive"):
        read(tmp_path, {"work": {"timezone": "Europe/Berlin"}})


def test_another_clock__is_another_forecast_and_learnt_anew(tmp_path: Path) -> None:
    usual, in_utc, local = (
        wanted(tmp_path, each) for each in ({}, {"receive": {}}, {"receive": {"timezone": "Asia/Tokyo"}})
    )
    assert (usual.identity, usual.order.trained) == (in_utc.identity, in_utc.order.trained)
    assert usual.identity != local.identity
    assert usual.order.trained != local.order.trained
    assert local.order.timezone == "Asia/Tokyo"
