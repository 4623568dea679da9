"""Profiles go through their file as they are; what cannot be is refused with file, field and remedy."""

import json
import re
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from forescale.cli.config import file_schema
from forescale.files.file_error import FileError
from forescale.files.profile import read_profile_file, write_profile_file
from modeling.inputs.key_histogram import KeyHistogram
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.polling import Polling
from modeling.inputs.scale_efficiency import ScaleEfficiency
from modeling.inputs.topology import Operator, Stream, Topology
from modeling.inputs.windowed_output import WindowedOutput, WindowKind

EVERYTHING = OperatorProfile(
    "join",
    0.001,
    {"join->out": 0.5},
    0.0001,
    2.0,
    KeyHistogram({"a": 0.5}, {"a": 12345}),
    17,
    {"b->join": KeyHistogram({"x": 0.25})},
    {"b->join": 0.004},
    {"join->out": {"a->join": 1.0, "b->join": 3.0}},
    {"join->log": WindowedOutput(WindowKind.SLIDING, 60.0, 100, 10.0, KeyHistogram({"a": 0.5}))},
    (0.0, 4.0),
    {"join->out": 0.01},
    ScaleEfficiency(0.9, 0.0, 4, 0.02),
    0.0008,
    0.0001,
    256.0,
    0.5,
    12.0,
    False,
    0.02,
    {"service_s": (0.0008, 0.0012), "selectivity[join->out]": (0.48, 0.52)},
)


def test_a_profile__comes_back_as_it_was(tmp_path: Path) -> None:
    profiles = {"join": EVERYTHING, "in": OperatorProfile("in", 0.0)}
    write_profile_file(tmp_path / "p.json", "shop", profiles, "2026-01-05T00:00:00Z")
    assert read_profile_file(tmp_path / "p.json") == profiles


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ({"intervals": {"service_s": (0.002, 0.003)}}, "interval of service_s, 0.002 to 0.003, does not hold .* 0.001"),
        ({"intervals": {"selectivity[join->out]": (0.6, 0.7)}}, r"interval of selectivity\[join->out\], 0.6 to 0.7"),
        ({"service_cv2_interval": (2.5, 4.0)}, "interval of service_cv2, 2.5 to 4, does not hold its value 2"),
    ],
)
def test_an_interval__without_its_own_value_is_refused(tmp_path: Path, field: dict[str, object], message: str) -> None:
    write_profile_file(tmp_path / "p.json", "shop", {"join": replace(EVERYTHING, **field)}, "")  # type: ignore[arg-type]
    with pytest.raises(FileError, match=rf"p.json: operators.join: the {message}"):
        read_profile_file(tmp_path / "p.json")


VERSION_1 = {
    "topology": "shop",
    "measured_at": "2026-01-05T00:00:00Z",
    "operators": {
        "join": {
            "service_s": 0.001,
            "service_s_error": 0.0001,
            "service_cv2": 2.0,
            "selectivity": {"join->out": 0.5},
            "key_shares": {"a": 0.5},
            "key_hashes": {"a": 12345},
            "stream_key_shares": {"b->join": {"x": 0.25}},
            "stream_service_s": {"b->join": 0.004},
            "input_selectivity": {"join->out": {"a->join": 1.0, "b->join": 3.0}},
            "windowed": {
                "join->log": {
                    "kind": "sliding",
                    "window_s": 60.0,
                    "distinct_keys": 100,
                    "slide_s": 10.0,
                    "key_shares": {"a": 0.5},
                }
            },
            "service_cv2_interval": [0.0, 4.0],
            "selectivity_error": {"join->out": 0.01},
            "efficiency": {
                "exponent": 0.9,
                "coordination_s": 0.0,
                "measured_at": 4,
                "exponent_error": 0.02,
                "coordination_error_s": 0.0,
            },
            "cpu_s": 0.0008,
            "cpu_s_error": 0.0001,
            "memory_mib": 256.0,
            "memory_mib_s": 0.5,
            "state_gib": 12.0,
            "state_in_memory": False,
            "gc_share": 0.02,
            "intervals": {"service_s": [0.0008, 0.0012], "selectivity[join->out]": [0.48, 0.52]},
            "polling": None,
            "samples": 17,
        },
        "a": {
            "service_s": 0.0,
            "key_shares": None,
            "key_hashes": {},
            "stream_key_shares": {},
            "windowed": {"a->join": {"kind": "tumbling", "window_s": 1.0, "distinct_keys": 3, "key_shares": None}},
            "polling": {"interval_s": 0.1, "most_per_poll": 500},
        },
    },
}
"""As version 1 wrote it, which had no number then, but for what is as if absent."""


def test_a_file_of_version_1__is_read_as_it_was_meant(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text(json.dumps(VERSION_1))
    assert read_profile_file(tmp_path / "p.json") == {
        "join": EVERYTHING,
        "a": OperatorProfile(
            "a",
            0.0,
            windowed={"a->join": WindowedOutput(WindowKind.TUMBLING, 1.0, 3)},
            polling=Polling(0.1, 500),
        ),
    }


def test_every_field_of_a_profile__is_in_the_file(tmp_path: Path) -> None:
    """Whatever is added to OperatorProfile: it need not be written anywhere else."""
    write_profile_file(tmp_path / "p.json", "shop", {"join": EVERYTHING}, "")
    written = json.loads((tmp_path / "p.json").read_text())
    assert written["schema_version"] == 2
    assert set(written["operators"]["join"]) == {each.name for each in fields(OperatorProfile)} - {"operator"}
    schema = file_schema("profile")["$defs"]["OperatorProfile"]
    assert set(schema["properties"]) == set(written["operators"]["join"])
    Draft202012Validator(file_schema("profile")).validate(written)


def test_numbers_of_numpy__are_written_as_what_they_are(tmp_path: Path) -> None:
    measured = OperatorProfile("in", np.float64(0.25), {"in->out": np.float32(2)}, samples=np.int64(3))  # type: ignore[arg-type, dict-item]
    write_profile_file(tmp_path / "p.json", "shop", {"in": measured}, "")
    assert read_profile_file(tmp_path / "p.json") == {"in": OperatorProfile("in", 0.25, {"in->out": 2.0}, samples=3)}


def test_a_file_of_a_later_version__is_refused(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text('{"schema_version": 3, "topology": "shop", "operators": {}}')
    with pytest.raises(FileError, match="schema_version: Input should be 1 or 2"):
        read_profile_file(tmp_path / "p.json")


def test_a_profile__is_written_whole_and_touches_no_other_file(tmp_path: Path) -> None:
    (tmp_path / "p.new").write_text("mine")
    for count in (1, 2):
        write_profile_file(tmp_path / "p.json", "shop", {"in": OperatorProfile("in", count)}, "")
    assert read_profile_file(tmp_path / "p.json")["in"].service_s == 2
    assert (tmp_path / "p.new").read_text() == "mine"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["p.json", "p.new"]


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"service_s": -1.0}, "service time -1.0 s; give a finite number"),
        ({"service_s": "soon"}, r"operators\.join\.service_s"),
        ({"selectivity": {"join->out": -0.5}}, "selectivity -0.5 of stream join->out"),
        ({"input_selectivity": {"join->out": {"a->join": -1.0}}}, "selectivity -1.0 of stream join->out per a->join"),
        ({"stream_service_s": {"a->join": -1.0}}, "service time -1.0 s of stream a->join"),
        ({"key_shares": {"a": 0.7, "b": 0.7}}, "shares add up to 1.4"),
        ({"windowed": {"join->out": {"kind": "tumbling", "window_s": 0, "distinct_keys": 3}}}, "window of 0.0 s"),
        ({"windowed": {"join->out": {"kind": "odd", "window_s": 1, "distinct_keys": 3}}}, r"windowed\.join->out\.kind"),
        ({"intervals": {"service_s": [2, 1]}}, "interval 2.0 to 1.0 of service_s; give two finite numbers"),
        ({"intervals": {"service_s": [1]}}, r"operators\.join\.intervals\.service_s"),
        ({"cpu_s": -1.0}, "cpu_s -1.0; give a finite number"),
        ({"efficiency": {"exponent": 0}}, "scale exponent 0.0"),
        ({"efficiency": {"exponent_error": -1}}, "exponent_error -1.0; give a finite number, not below 0"),
        ({"efficiency": {"coordination_error_s": -1}}, "coordination_error_s -1.0; give a finite number"),
        ({"service_cv2_interval": [2, 1]}, "service_cv2_interval 2.0 to 1.0; give two numbers, not negative"),
        ({"service_cv2_interval": [-1, 1]}, "service_cv2_interval -1.0 to 1.0"),
        ({"selectivity_error": {"join->out": -0.1}}, "selectivity_error -0.1 of stream join->out"),
        ({"samples": -1}, "samples -1; give how many there were"),
        ({"gc_share": 1.5}, "gc_share 1.5; give a share of the time, 0 to 1"),
        ({"selectivity": {"join->out": 1e300}}, r"selectivity 1e\+300 of stream join->out.*at most 1e\+12"),
        ({"colour": "red"}, r"operators\.join\.colour"),
        ({"operator": "join"}, r"operators\.join\.operator is not a known field"),
        ({"keys": {"shares": {"a": 0.5}, "distinct_keys": 0}}, "distinct_keys 0 of 1 named keys"),
        ({"keys": {"shares": {}, "share": {}}}, r"operators\.join\.keys\.share"),
        ({"keys": {"shares": {}}, "key_shares": {"a": 0.5}}, "keys is given under its name of version 1 too"),
        ({"stream_key_shares": [1]}, r"operators\.join\.stream_keys"),
    ],
)
def test_what_cannot_be__is_refused_with_file_field_and_remedy(
    tmp_path: Path, changed: dict[str, object], named: str
) -> None:
    path = tmp_path / "p.json"
    path.write_text(json.dumps({"topology": "shop", "operators": {"join": {"service_s": 0.001} | changed}}))
    with pytest.raises(FileError, match=named) as caught:
        read_profile_file(path)
    assert str(path) in str(caught.value)


DOCS = Path(__file__).resolve().parents[3] / "docs" / "topology-file.md"


def test_docs__name_every_field_of_a_profile_and_show_one_that_can_be_read(tmp_path: Path) -> None:
    told = DOCS.read_text()
    section = told[told.index("A **profile**") : told.index("### Sample files")]
    models = json.loads((DOCS.parent / "schemas" / "profile.schema.json").read_text())
    fields = {name for model in (models, *models["$defs"].values()) for name in model.get("properties", ())}
    assert sorted(name for name in fields if f"`{name}`" not in section) == []
    [example] = re.findall(r"```json\n(.*?)```", section, re.DOTALL)
    (tmp_path / "p.json").write_text(example)
    shop = Topology(
        "shop",
        (Operator("orders"), Operator("count"), Operator("store")),
        (Stream("orders", "count"), Stream("count", "store")),
    )
    assert read_profile_file(tmp_path / "p.json", shop)["count"].windowed["count->store"].slide_s == 10


SHOP = Topology(
    "shop",
    (Operator("a"), Operator("b"), Operator("join"), Operator("out"), Operator("log")),
    (Stream("a", "join"), Stream("b", "join"), Stream("join", "out"), Stream("join", "log")),
)
WINDOW = {"kind": "tumbling", "window_s": 1, "distinct_keys": 3}


def test_a_profile_of_the_topology__is_read(tmp_path: Path) -> None:
    write_profile_file(tmp_path / "p.json", "shop", {"join": EVERYTHING}, "")
    assert read_profile_file(tmp_path / "p.json", SHOP) == {"join": EVERYTHING}


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"topology": "shopp"}, "topology: 'shopp' is not 'shop'; give a profile of this topology"),
        ({"operators": {"jion": {"service_s": 1}}}, "operators.jion is no operator of topology 'shop'; they are a, b,"),
        (
            {"selectivity": {"join->oot": 1}},
            "selectivity.join->oot is no stream that leaves 'join'; they are join->out",
        ),
        ({"selectivity": {"a->join": 1}}, "selectivity.a->join is no stream that leaves 'join'"),
        ({"selectivity_error": {"join->oot": 1}}, "selectivity_error.join->oot is no stream that leaves"),
        ({"input_selectivity": {"join->oot": {}}}, "input_selectivity.join->oot is no stream that leaves"),
        (
            {"input_selectivity": {"join->out": {"c->join": 1}}},
            "input_selectivity.join->out.c->join is no stream that enters 'join'; they are a->join, b->join",
        ),
        ({"stream_service_s": {"c->join": 1}}, "stream_service_s.c->join is no stream that enters"),
        ({"stream_key_shares": {"c->join": {"x": 1}}}, "stream_keys.c->join is no stream that enters"),
        ({"windowed": {"join->oot": WINDOW}}, "windowed.join->oot is no stream that leaves"),
    ],
)
def test_a_profile_of_something_else__is_refused_with_what_there_is(
    tmp_path: Path, body: dict[str, object], named: str
) -> None:
    path = tmp_path / "p.json"
    whole = set(body) <= {"topology", "operators"}
    join = {"service_s": 0.001} | ({} if whole else body)
    path.write_text(json.dumps({"topology": "shop", "operators": {"join": join}} | (body if whole else {})))
    with pytest.raises(FileError, match=f"^{re.escape(f'{path}: ')}.*{re.escape(named)}"):
        read_profile_file(path, SHOP)
    # Whoever knows what to leave out reads it without the topology.
    assert read_profile_file(path)


def test_messages__call_a_file_that_was_fetched_by_what_was_asked_for(tmp_path: Path) -> None:
    write_profile_file(tmp_path / "p.json", "other", {}, "")
    with pytest.raises(FileError, match=r"^models:/calibration-other/3: topology: 'other' is not 'shop'"):
        read_profile_file(tmp_path / "p.json", SHOP, "models:/calibration-other/3")


def test_a_key_that_is_given_twice__is_refused(tmp_path: Path) -> None:
    text = '{"schema_version": 2, "topology": "pair", "operators": {"count": {"service_s": 0.1, "service_s": 0.9}}}'
    (tmp_path / "pair.json").write_text(text)
    with pytest.raises(FileError, match=r"pair\.json: 'service_s' is given twice; leave one out"):
        read_profile_file(tmp_path / "pair.json")
