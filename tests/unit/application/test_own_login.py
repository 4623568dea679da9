"""Whose login is sent to an address of the topology file: that of the section `arrivals` to its own alone."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from json_stand_in import JsonStandIn, json_stand_in

from forescale.cli import main

SHOP = Path(__file__).parents[3] / "examples" / "services" / "shop.yaml"


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORESCALE_HOME", str(tmp_path / "home"))


def _calibrated(tmp_path: Path, of_the_file: str, prometheus: JsonStandIn) -> None:
    body: dict[str, Any] = yaml.safe_load(SHOP.read_text())
    body["arrivals"] |= {"url": of_the_file, "token_env": "SHOP_TOKEN"}
    body["services"]["url"] = prometheus.url
    path = tmp_path / "shop.yaml"
    path.write_text(yaml.safe_dump(body))
    with pytest.raises(SystemExit) as ended:
        main(["model", "calibrate", str(path), "--json"])
    assert ended.value.code == 1  # it has no samples


@pytest.mark.parametrize("same", [True, False], ids=["same address", "another address"])
def test_calibrate__sends_the_login_of_the_file_to_its_own_address_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, same: bool
) -> None:
    monkeypatch.setenv("SHOP_TOKEN", "sesame-open")
    with json_stand_in() as prometheus:
        prometheus.answers["/api/v1/query"] = {"status": "success", "data": {"resultType": "matrix", "result": []}}
        _calibrated(tmp_path, f"{prometheus.url}/" if same else "http://127.0.0.1:9", prometheus)
    assert prometheus.asked
    assert prometheus.headers.get("Authorization") == ("Bearer sesame-open" if same else None)


def test_calibrate__names_the_section_whose_secret_is_lacking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("SHOP_TOKEN", raising=False)
    with json_stand_in() as prometheus:
        _calibrated(tmp_path, prometheus.url, prometheus)
    captured = capsys.readouterr()
    assert "section arrivals of shop-services: the environment variable SHOP_TOKEN" in captured.err + captured.out


def test_calibrate__asks_for_the_address_of_prometheus_where_no_section_has_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body: dict[str, Any] = yaml.safe_load(SHOP.read_text())
    body["arrivals"] = {"kind": "kafka", "servers": "127.0.0.1:9", "topics": {"gate": "calls"}}
    path = tmp_path / "shop.yaml"
    path.write_text(yaml.safe_dump(body))
    with pytest.raises(SystemExit) as ended:
        main(["model", "calibrate", str(path)])
    assert ended.value.code == 1
    assert "section services of shop-services: give url, the address of Prometheus" in capsys.readouterr().err
