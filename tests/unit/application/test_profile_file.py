"""Profiles go through their file as they are; what cannot be is refused with file, field and remedy."""

import json
from pathlib import Path

import pytest

from forescale.profile_file import ProfileFileError, read_profile_file, write_profile_file
from modeling.key_histogram import KeyHistogram
from modeling.operator_profile import OperatorProfile
from modeling.scale_efficiency import ScaleEfficiency
from modeling.windowed_output import WindowedOutput, WindowKind

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
        ({"colour": "red"}, r"operators\.join\.colour"),
    ],
)
def test_what_cannot_be__is_refused_with_file_field_and_remedy(
    tmp_path: Path, changed: dict[str, object], named: str
) -> None:
    path = tmp_path / "p.json"
    path.write_text(json.dumps({"topology": "shop", "operators": {"join": {"service_s": 0.001} | changed}}))
    with pytest.raises(ProfileFileError, match=named) as caught:
        read_profile_file(path)
    assert str(path) in str(caught.value)
