"""Operator profiles as a JSON file, written by calibration and read by the planner and `forescale model evaluate`.

Its fields are those of `OperatorProfile`: a field added there is read, written and part of the schema without further
code.
"""

import json
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, model_validator

from forecasting.bounded_file import bounded_text
from forescale.files.atomic import write_whole
from forescale.files.file_error import FileError, field_errors
from forescale.files.json_keys import unique_keys
from forescale.plain_numbers import PlainNumbers, odd_number
from modeling.calibration.parameters import parameters
from modeling.errors import ModelError
from modeling.inputs.checked import check_streams
from modeling.inputs.operator_profile import OperatorProfile, Profiles
from modeling.inputs.topology import Topology

ROUNDING = 1e-6
"""By which a value may lie beyond its interval, as a share of it: people round what they write down."""


class ProfilesEntry(PlainNumbers, BaseModel):
    """What calibration measured of the operators of a topology: times in seconds, selectivity per stream (`a->b`)."""

    # Also applies to the nested dataclasses: they allow no unknown fields either.
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    schema_version: Literal[1, 2] = 1
    topology: str
    measured_at: str = ""
    operators: dict[str, OperatorProfile]

    @model_validator(mode="before")
    @classmethod
    def _named(cls, body: Any) -> Any:
        """Take each operator's name from its key."""
        if isinstance(body, dict) and "\0" in str(body.get("measured_at")):
            raise ModelError("measured_at holds a null byte; leave it out")
        operators = body.get("operators") if isinstance(body, dict) else None
        if not isinstance(operators, dict):
            return body
        if own := [name for name, profile in operators.items() if isinstance(profile, dict) and "operator" in profile]:
            raise ModelError(f"operators.{own[0]}.operator is not a known field; leave it out")
        if odd := odd_number(operators, "operators", words=("state_in_memory",)):
            raise ModelError(odd)
        named = {
            name: {**_in_words_of_now(profile), "operator": name} if isinstance(profile, dict) else profile
            for name, profile in operators.items()
        }
        return {**body, "operators": named}


def _check_intervals(profiles: Profiles) -> None:
    """Raises ModelError for an interval that does not hold the value that it belongs to."""
    for operator, profile in profiles.items():
        of_cv2 = () if profile.service_cv2_interval is None else (("service_cv2", profile.service_cv2_interval),)
        values = parameters(profile)
        for name, (low, high) in (*profile.intervals.items(), *of_cv2):
            value = values[name].value if name in values else low
            if not low - ROUNDING * abs(low) <= value <= high + ROUNDING * abs(high):
                raise ModelError(
                    f"operators.{operator}: the interval of {name}, {low:g} to {high:g}, does not hold its value "
                    f"{value:g}; correct one of them, or leave the interval out"
                )


def _in_words_of_now(profile: dict[str, Any]) -> dict[str, Any]:
    """Translate the names that version 1 used for key histograms."""
    told = dict(profile)
    shares, hashes = told.pop("key_shares", None), told.pop("key_hashes", None)
    by_stream = told.pop("stream_key_shares", None)
    before: dict[str, Any] = {"keys": {"shares": shares, "hashes": hashes or {}}} if shares else {}
    if isinstance(by_stream, dict) and by_stream:
        before["stream_keys"] = {stream: {"shares": each} for stream, each in by_stream.items()}
    elif by_stream:
        before["stream_keys"] = by_stream
    if twice := sorted(before.keys() & told.keys()):
        raise ModelError(f"{twice[0]} is given under its name of version 1 too; leave one of them out")
    if isinstance(windowed := told.get("windowed"), dict):
        before["windowed"] = {
            stream: _in_words_of_now(window) if isinstance(window, dict) else window
            for stream, window in windowed.items()
        }
    return told | before


def read_profile_file(
    path: Path, topology: Topology | None = None, called: str | None = None
) -> dict[str, OperatorProfile]:
    """Profiles by operator. Raises FileError naming file, field, value and remedy.

    topology: the one they must belong to; None: unchecked. called: name of the file in messages, if not its path.
    """
    name = called or str(path)
    try:
        text = bounded_text(path)
    except UnicodeDecodeError as error:
        raise FileError(f"profile file {name} cannot be read: {error}; save it as UTF-8") from None
    except OSError as error:
        raise FileError(f"profile file {name} cannot be read: {error}; check the path") from None
    with field_errors(name, "; see docs/topology-file.md"):
        entry = ProfilesEntry.model_validate_json(text)
        _check_keys(name, text)
        _check_intervals(entry.operators)
        if topology is not None:
            _check(entry.topology, entry.operators, topology)
        return entry.operators


def _check_keys(file: str, text: str) -> None:
    """Raises FileError for a key that is given twice, of which pydantic takes the last."""
    try:
        json.loads(text, object_pairs_hook=unique_keys)
    except ValueError as error:
        raise FileError(f"profile file {file}: {error}") from None


def measured_at(path: Path) -> datetime | None:
    """When the profiles in a file were measured; None if it does not say. Raises FileError or OSError."""
    with field_errors(path, "; see docs/topology-file.md"):
        told = ProfilesEntry.model_validate_json(bounded_text(path)).measured_at
    try:
        moment = datetime.fromisoformat(told)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None


def _check(of: str, profiles: Profiles, topology: Topology) -> None:
    """Raises ModelError if profiles of the topology `of` name something that the topology does not have."""
    if of != topology.name:
        raise ModelError(f"topology: {of!r} is not {topology.name!r}; give a profile of this topology")
    known = [operator.name for operator in topology.operators]
    for operator in profiles:
        if operator not in known:
            raise ModelError(
                f"operators.{operator} is no operator of topology {topology.name!r}; they are {', '.join(known)}"
            )
        check_streams(topology, profiles[operator])


def profile_text(topology: str, profiles: dict[str, OperatorProfile], measured_at: str) -> str:
    """What a profile file holds."""
    entry = ProfilesEntry.model_construct(
        schema_version=2, topology=topology, measured_at=measured_at, operators=profiles
    )
    return entry.model_dump_json(indent=2, exclude={"operators": {"__all__": {"operator"}}})


def write_profile_file(path: Path, topology: str, profiles: dict[str, OperatorProfile], measured_at: str) -> None:
    """Atomic: the file is the old one or the new one."""
    write_whole(profile_text(topology, profiles, measured_at), path)
