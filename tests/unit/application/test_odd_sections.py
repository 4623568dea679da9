"""Sections of a topology file that read well, and make no sense or would show a secret, are refused by their field."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from canaries import canaries_in, canary

from forescale.files.file_error import FileError
from forescale.files.http_access import secret
from forescale.files.topology import topology_of_text

TOPOLOGY = """
topology: pair
operators: {read: {service_s: 0.0001}, count: {service_s: 0.1}}
streams: [{from: read, to: count}]
"""
PASSWORD = canary("section")
PROMETHEUS = {"kind": "prometheus", "url": "http://127.0.0.1:9", "queries": {"read": "reads_total"}}
KAFKA = {"kind": "kafka", "servers": "h:9092", "topics": {"read": "reads"}}
EVENTS = {"path": "events", "columns": {"time": "at"}, "source": "read"}
SIMULATOR = {"kind": "simulator", "truth": "t", "parallelism": {"read": 1, "count": 8}}


def text_with(**sections: Any) -> str:
    return TOPOLOGY + yaml.safe_dump(sections)


@pytest.mark.parametrize(
    ("sections", "complaint"),
    [
        ({"arrivals": EVENTS | {"not_before": 1}}, "arrivals.not_before: is no date or time; write it out"),
        ({"arrivals": EVENTS | {"not_before": "1767225600"}}, "arrivals.not_before: is no date or time"),
        ({"arrivals": EVENTS | {"columns": {"time": "at", "id": "at"}}}, "time and id are both column 'at'"),
        (
            {"arrivals": EVENTS | {"columns": {"time": "at", "weight": "n", "key": "n"}}},
            "weight and key are both column 'n'",
        ),
        ({"arrivals": EVENTS | {"path": f"s3://anna:{PASSWORD}@bucket/x"}}, "arrivals.path: has a login in it"),
        ({"arrivals": PROMETHEUS | {"timeout_s": 1e9}}, "arrivals.timeout_s: Input should be less than"),
        ({"arrivals": PROMETHEUS | {"queries": {"read": " "}}}, "arrivals.queries.read: String should match"),
        ({"arrivals": PROMETHEUS | {"url": f"http://h:9090/?token={PASSWORD}"}}, "arrivals.url: is no address"),
        ({"arrivals": PROMETHEUS | {"token_env": f"{PASSWORD}!"}}, "arrivals.token_env: is no name of an environment"),
        ({"arrivals": KAFKA | {"topics": {"read": []}}}, "arrivals.topics.read"),
        ({"arrivals": KAFKA | {"topics": {"read": ["a", "a"]}}}, "read names a twice, which would count it twice"),
        ({"arrivals": KAFKA | {"topics": {"read": "^a.*"}}}, "arrivals.topics.read"),
        ({"arrivals": KAFKA | {"settings": {"sasl.jaas.config": PASSWORD}}}, "sasl.jaas.config is a secret"),
        ({"arrivals": KAFKA | {"settings": {"sasl.oauthbearer.config": PASSWORD}}}, "oauthbearer.config is a secret"),
        ({"planning": {"lead_s": 86_400}}, "lead_s 86400 and downtime_s 30 reach beyond forecast.horizon_s 86400"),
        ({"planning": {"max_instances": 1}}, "max_instances is 1, and each of 2 operators needs an instance"),
        ({"cluster": SIMULATOR | {"slots": 8}}, "cluster.parallelism has 9 instances, and cluster.slots is 8"),
        (
            {"cluster": {"kind": "kubernetes", "namespace": "n", "operators": {}, "timeout_s": 1e6}},
            "cluster.kubernetes.timeout_s: Input should be less than",
        ),
    ],
)
def test_a_section__that_makes_no_sense_is_refused_by_its_field(sections: dict[str, Any], complaint: str) -> None:
    with pytest.raises(FileError) as error:
        topology_of_text(text_with(**sections), Path("pair.yaml"))
    assert complaint in str(error.value)
    assert not canaries_in(str(error.value))


def test_an_unquoted_time__is_no_number_of_seconds() -> None:
    # 1:30 is 90 to YAML 1.1, and 1:30.5 is 90.5.
    for written in ("1:30", "1:30.5", "8:00"):
        with pytest.raises(FileError, match=r"operators\.count\.service_s: Input should be a valid number"):
            topology_of_text(TOPOLOGY.replace("0.1", written), Path("pair.yaml"))


def test_a_secret_in_the_place_of_its_variable__is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="not shown, as it may be the secret itself"):
        secret("ghp_16C7e42F292c6912E7710c838347Ae178B4a")
    with pytest.raises(ValueError, match="the environment variable SHOP_TOKEN, which should hold a secret, is not set"):
        secret("SHOP_TOKEN")
    monkeypatch.setenv("shop_token", "x")
    assert secret("shop_token").get_secret_value() == "x"
