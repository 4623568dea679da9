"""Topology files: every mistake is answered with the file, the field, the value and the remedy."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from forescale.files.file_error import FileError
from forescale.files.topology import find_topology_file, read_topology_file
from forescale.wiring.planning_terms import change_terms_of
from modeling.inputs.key_histogram import KeyHistogram
from modeling.inputs.pauses import Pauses

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "topologies"


@pytest.fixture
def body() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((EXAMPLES / "call-analytics.yaml").read_text())
    return loaded


def written(folder: Path, body: object) -> Path:
    path = folder / "topology.yaml"
    path.write_text(yaml.safe_dump(body, sort_keys=False))
    return path


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_examples__are_valid(path: Path) -> None:
    assert read_topology_file(path).topology == path.stem


def test_cycle__is_named(tmp_path: Path, body: dict[str, Any]) -> None:
    body["streams"].append({"from": "count", "to": "transcribe"})
    with pytest.raises(FileError, match=r"cycle transcribe -> classify -> count -> transcribe"):
        read_topology_file(written(tmp_path, body))


def test_unknown_operator_in_a_stream__is_named_with_those_known(tmp_path: Path, body: dict[str, Any]) -> None:
    body["streams"][0]["to"] = "transcibe"
    with pytest.raises(FileError, match="unknown operator 'transcibe'; known are ingest, transcribe"):
        read_topology_file(written(tmp_path, body))


def test_missing_field__is_named(tmp_path: Path, body: dict[str, Any]) -> None:
    del body["arrivals"]["columns"]["time"]
    with pytest.raises(FileError, match=r"topology\.yaml: arrivals\.columns\.time is missing; add it"):
        read_topology_file(written(tmp_path, body))


def test_misspelt_field__is_named(tmp_path: Path, body: dict[str, Any]) -> None:
    body["planning"]["quantil"] = 0.9
    with pytest.raises(FileError, match=r"planning\.quantil is not a known field"):
        read_topology_file(written(tmp_path, body))


@pytest.mark.parametrize(
    ("field", "value"), [("service_s", -1), ("service_s", float("nan")), ("service_s", "fast"), ("max_parallelism", 0)]
)
def test_number_that_cannot_be__is_named_with_its_value(
    tmp_path: Path, body: dict[str, Any], field: str, value: object
) -> None:
    body["operators"]["count"][field] = value
    with pytest.raises(FileError, match=rf"operators\.count\.{field}.*\(given: "):
        read_topology_file(written(tmp_path, body))


KAFKA: dict[str, Any] = {"kind": "kafka", "servers": "b:9092", "topics": {"ingest": "calls"}}
PROMETHEUS: dict[str, Any] = {"kind": "prometheus", "url": "http://p:9090", "queries": {"ingest": "calls_total"}}


@pytest.mark.parametrize(
    ("section", "value", "said"),
    [
        ("forecast", {"step_s": 3600, "horizon_s": 900}, "forecast: step_s 3600 is above horizon_s 900"),
        ("arrivals", PROMETHEUS | {"url": "nope"}, "arrivals.url: is no address of a server"),
        ("arrivals", PROMETHEUS | {"url": "anna:canary@p:9090"}, "arrivals.url: is no address of a server"),
        ("arrivals", PROMETHEUS | {"url": "javascript:alert(1)"}, "arrivals.url: is no address of a server"),
        ("arrivals", PROMETHEUS | {"url": "http://p:99999"}, "arrivals.url: is no address of a server"),
        ("arrivals", KAFKA | {"servers": "b:9092,c:99999"}, "arrivals.servers: is no list of brokers"),
        ("arrivals", KAFKA | {"servers": "anna:canary@b:9092"}, "arrivals.servers: is no list of brokers"),
        (
            "arrivals",
            {"path": "e", "columns": {"time": "t"}, "source": "ingest", "timezone": "Mars/Olympus"},
            "arrivals.timezone: time zone 'Mars/Olympus' is not known",
        ),
    ],
)
def test_a_section__that_cannot_be_is_refused_and_shows_no_password(
    tmp_path: Path, body: dict[str, Any], section: str, value: dict[str, Any], said: str
) -> None:
    with pytest.raises(FileError) as error:
        read_topology_file(written(tmp_path, body | {section: value}))
    assert said in str(error.value)
    assert "canary" not in str(error.value)


def test_shares__add_up_to_one(tmp_path: Path, body: dict[str, Any]) -> None:
    body["streams"][0] |= {"grouping": "custom", "shares": [0.3, 0.3]}
    with pytest.raises(FileError, match=r"shares that add up to 0\.6; give numbers from 0 to 1 that add up to 1"):
        read_topology_file(written(tmp_path, body))


def test_key_shares__beyond_one_name_their_operator(tmp_path: Path, body: dict[str, Any]) -> None:
    name = next(iter(body["operators"]))
    body["operators"][name] |= {"key_shares": {"de": 0.7, "fr": 0.6}}
    with pytest.raises(FileError, match=rf"operators\.{name}: key histogram: shares add up to 1\.3"):
        read_topology_file(written(tmp_path, body))


def test_cluster_parallelism__names_every_operator_and_no_other(tmp_path: Path, body: dict[str, Any]) -> None:
    del body["cluster"]["parallelism"]["count"]
    with pytest.raises(FileError, match="nothing for operator 'count'"):
        read_topology_file(written(tmp_path, body))
    body["cluster"]["parallelism"] |= {"count": 1, "cuont": 1}
    with pytest.raises(FileError, match="unknown operator 'cuont'"):
        read_topology_file(written(tmp_path, body))


@pytest.mark.parametrize(("text", "message"), [("- a\n- b", "holds list"), ("a: [", "not YAML"), ("", "is empty")])
def test_file_that_is_no_mapping__is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "topology.yaml"
    path.write_text(text)
    with pytest.raises(FileError, match=message):
        read_topology_file(path)


def test_yaml_tags__run_nothing(tmp_path: Path) -> None:
    path = tmp_path / "topology.yaml"
    path.write_text("topology: !!python/object/apply:os.system ['touch pwned']")
    with pytest.raises(FileError, match="not YAML"):
        read_topology_file(path)


def test_unknown_topology__is_refused_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"known are: .*call-analytics"):
        find_topology_file("calls", EXAMPLES)
    with pytest.raises(FileError, match="does not exist"):
        read_topology_file(tmp_path / "none.yaml")


def test_arrivals_of_an_operator_that_is_no_source__are_refused(tmp_path: Path, body: dict[str, Any]) -> None:
    body["arrivals"] = {"kind": "kafka", "servers": "127.0.0.1:9092", "topics": {"transcribe": "calls"}}
    with pytest.raises(FileError, match=r"arrivals\.topics names 'transcribe', which is no source .* they are ingest"):
        read_topology_file(written(tmp_path, body))


@pytest.mark.parametrize("section", ["arrivals", "cluster"])
def test_file_without_a_section__is_read_and_says_so_where_it_is_needed(
    tmp_path: Path, body: dict[str, Any], section: str
) -> None:
    del body[section]
    config = read_topology_file(written(tmp_path, body))
    assert config.as_topology().order
    with pytest.raises(FileError, match=f"section {section} is missing; add it to "):
        getattr(config, section)


def test_section__is_not_known_by_any_other_name(tmp_path: Path, body: dict[str, Any]) -> None:
    body["cluster_section"] = body.pop("cluster")
    with pytest.raises(FileError, match="cluster_section is not a known field"):
        read_topology_file(written(tmp_path, body))


def test_keys__of_an_operator_are_told_by_shares_by_their_number_or_both(tmp_path: Path, body: dict[str, Any]) -> None:
    def keys(**told: object) -> KeyHistogram | None:
        body["operators"]["count"] = {"service_s": 0.1} | told
        return read_topology_file(written(tmp_path, body)).declared_profiles()["count"].keys

    assert keys() is None
    assert keys(key_shares={"de": 0.2}) == KeyHistogram({"de": 0.2})
    assert keys(key_shares={"de": 0.2}, distinct_keys=40) == KeyHistogram({"de": 0.2}, distinct_keys=40)
    assert keys(distinct_keys=40) == KeyHistogram({}, distinct_keys=40)
    with pytest.raises(FileError, match="distinct_keys 1 of 2 named keys"):
        keys(key_shares={"de": 0.2, "fr": 0.1}, distinct_keys=1)


@pytest.mark.parametrize(("told", "every_s"), [({}, 3600), ({"every_s": 900}, 900)])
def test_the_time_between_forecasts__is_what_plans_count_on(
    tmp_path: Path, body: dict[str, Any], told: dict[str, int], every_s: int
) -> None:
    """Where the guard does not act, the next forecast does; then instances take five minutes more to come."""
    body["planning"] = {"lead_s": 300}
    body["forecast"] = told
    config = read_topology_file(written(tmp_path, body))
    terms = change_terms_of(config.planning, config.forecast.every_s)
    assert (terms.react_s, terms.held_s) == (every_s + 300, every_s / 2)


def test_pauses__of_an_operator_are_declared_and_leave_time_for_work(tmp_path: Path, body: dict[str, Any]) -> None:
    name, entry = next(iter(body["operators"].items()))
    entry["pauses"] = {"interval_s": 60, "length_s": 0.4}
    assert read_topology_file(written(tmp_path, body)).declared_profiles()[name].pauses == Pauses(60, 0.4)
    entry["pauses"] = {"interval_s": 60, "length_s": 60}
    with pytest.raises(FileError, match="length_s 60 leaves no time for work in interval_s 60"):
        read_topology_file(written(tmp_path, body))
