"""The section `arrivals`: each kind is read, becomes its source, and says what is wrong with it."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from json_stand_in import json_stand_in
from shop_history import shop_file

from forecasting.errors import HistoryError
from forescale.files.file_error import FileError
from forescale.files.topology import TopologyConfig, read_topology_file
from forescale.settings import Settings
from forescale.wiring.arrivals import arrival_source, steady_source

NOW = datetime(2024, 3, 4, tzinfo=UTC)
PROMETHEUS = {"kind": "prometheus", "url": "http://127.0.0.1:1", "queries": {"orders": "orders_total"}}
STORM = {"kind": "storm", "url": "http://127.0.0.1:1", "spouts": {"orders": "order-spout"}}
HERON = {
    "kind": "heron",
    "url": "http://127.0.0.1:1",
    "cluster": "local",
    "environ": "prod",
    "spouts": {"orders": "order-spout"},
}
KAFKA = {"kind": "kafka", "servers": "127.0.0.1:1", "topics": {"orders": ["orders", "orders-eu"]}}
EVENTS = {"path": "events", "columns": {"time": "at", "source": "feed"}}


def config(folder: Path, section: dict[str, Any]) -> TopologyConfig:
    return read_topology_file(shop_file(folder, section))


def settings_of(folder: Path) -> Settings:
    return Settings(home=folder)


@pytest.mark.parametrize(
    ("section", "place"),
    [
        (PROMETHEUS, "Prometheus at http://127.0.0.1:1"),
        (HERON, "Heron Tracker at http://127.0.0.1:1, topology local/prod/shop"),
        (STORM, "Storm UI at http://127.0.0.1:1, topology shop"),
        (KAFKA, "127.0.0.1:1"),
    ],
    ids=lambda given: given["kind"] if isinstance(given, dict) else "",
)
def test_section__becomes_the_source_that_its_kind_names(tmp_path: Path, section: dict[str, Any], place: str) -> None:
    with arrival_source(config(tmp_path, section), settings_of(tmp_path), NOW) as source:
        assert place in source.place


def test_a_mistyped_column__is_named_with_its_remedy(tmp_path: Path) -> None:
    section = EVENTS | {"columns": {"time": "at", "source": "feed", "sorce": "feed"}}
    with pytest.raises(FileError, match=r"columns\.sorce is not a known field; remove it or correct its name"):
        config(tmp_path, section)


def test_storm__alone_has_to_be_read_steadily(tmp_path: Path) -> None:
    told = {}
    for section in (PROMETHEUS, HERON, STORM, KAFKA, EVENTS):
        source = steady_source(config(tmp_path, section), settings_of(tmp_path))
        told[section.get("kind", "events")] = source is not None
    assert told == {"prometheus": False, "heron": False, "storm": True, "kafka": False, "events": False}


def test_headers__come_from_the_environment_and_are_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_TENANT", "shop-eu")
    monkeypatch.setenv("SHOP_TOKEN", "s3cret")
    with json_stand_in() as server:
        section = PROMETHEUS | {
            "url": server.url,
            "headers_env": {"X-Scope-OrgID": "SHOP_TENANT"},
            "token_env": "SHOP_TOKEN",
        }
        shop = config(tmp_path, section)
        with arrival_source(shop, settings_of(tmp_path), NOW) as source, pytest.raises(HistoryError) as error:
            source.first_moment()
    assert server.headers["X-Scope-OrgID"] == "shop-eu"
    assert server.headers["Authorization"] == "Bearer s3cret"
    assert "s3cret" not in str(error.value)


def test_token__of_a_file_with_a_last_line_end_is_sent_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_TOKEN", "s3cret\n")
    with json_stand_in() as server:
        shop = config(tmp_path, PROMETHEUS | {"url": server.url, "token_env": "SHOP_TOKEN"})
        with arrival_source(shop, settings_of(tmp_path), NOW) as source, pytest.raises(HistoryError):
            source.first_moment()
    assert server.headers["Authorization"] == "Bearer s3cret"


@pytest.mark.parametrize("value", ["", " ", "sesame\nopen", "s\u00e9same", "ses\x07ame"])
@pytest.mark.parametrize("naming", [{"token_env": "SHOP_TOKEN"}, {"headers_env": {"X-Tenant": "SHOP_TOKEN"}}])
def test_secret__that_no_header_can_hold_is_named_and_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str, naming: dict[str, Any]
) -> None:
    monkeypatch.setenv("SHOP_TOKEN", value)
    expected = "variable SHOP_TOKEN is sent as a header, and is empty or not one line of printable ASCII; correct it"
    shop = config(tmp_path, PROMETHEUS | naming)
    with pytest.raises(HistoryError, match=expected) as failed, arrival_source(shop, settings_of(tmp_path), NOW):
        pass
    assert "same" not in str(failed.value)


@pytest.mark.parametrize("section", [PROMETHEUS, HERON, STORM], ids=lambda section: section["kind"])
@pytest.mark.parametrize("naming", [{"token_env": "NOT_SET"}, {"headers_env": {"X-Tenant": "NOT_SET"}}])
def test_secret__that_the_environment_lacks_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, section: dict[str, Any], naming: dict[str, Any]
) -> None:
    monkeypatch.delenv("NOT_SET", raising=False)
    shop = config(tmp_path, section | naming)
    expected = (
        "arrivals of topology 'shop': the environment variable NOT_SET, which should hold a secret, is not set; set it"
    )
    with pytest.raises(HistoryError, match=expected), arrival_source(shop, settings_of(tmp_path), NOW):
        pass
    if section is STORM:
        with pytest.raises(HistoryError, match=expected):
            steady_source(shop, settings_of(tmp_path))


@pytest.mark.parametrize(
    ("section", "message"),
    [
        (PROMETHEUS | {"headers_env": {"X Tenant": "A"}}, r"arrivals\.headers_env\.X Tenant"),
        (PROMETHEUS | {"headers_env": {"X-Tenant": "a b"}}, r"arrivals\.headers_env\.X-Tenant: is no name of an env"),
        (
            PROMETHEUS | {"headers_env": {"authorization": "A"}, "token_env": "B"},
            r"arrivals: headers_env gives Authorization, and so does token_env; leave one of them out",
        ),
        (PROMETHEUS | {"ended_after_s": 0}, r"arrivals\.ended_after_s: .* greater than 0 \(given: 0\)"),
        (PROMETHEUS | {"qeries": {}}, r"arrivals\.qeries is not a known field"),
        (PROMETHEUS | {"since": "2024-03-04T00:00:00"}, r"arrivals\.since: .*timezone"),
        (PROMETHEUS | {"quality": {"min_observed": 90}}, r"arrivals\.quality\.min_observed: .*less than or equal to 1"),
        (
            KAFKA | {"settings": {"sasl.password": "x"}},
            r"arrivals\.settings: sasl\.password is a secret; put it into an environment variable",
        ),
        (EVENTS | {"measures": "guessed"}, r"arrivals\.measures: .*'offered' or 'throughput'"),
        ({"kind": "pulsar"}, r"arrivals: .*'pulsar'.*'events', 'kafka', 'prometheus', 'heron', 'storm'"),
    ],
)
def test_section__that_cannot_be_used_names_the_field(tmp_path: Path, section: dict[str, Any], message: str) -> None:
    with pytest.raises(FileError, match=message):
        config(tmp_path, section)


@pytest.mark.parametrize("section", [PROMETHEUS, STORM], ids=lambda section: section["kind"])
def test_series__cannot_end_before_a_gap_is_over(tmp_path: Path, section: dict[str, Any]) -> None:
    shop = config(tmp_path, section | {"max_gap_s": 120, "ended_after_s": 60})
    with (
        pytest.raises(HistoryError, match=r"ended_after_s 60\.0; give seconds, at least max_gap_s 120"),
        arrival_source(shop, settings_of(tmp_path), NOW),
    ):
        pass
