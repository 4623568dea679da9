"""A planner's own look at its operators, where it contradicts the calibration: taken up once a second look agrees.

A look is one span, perhaps beside other load. Planning by it at once would scale for a minute of a busy neighbour.
"""

from dataclasses import replace
from datetime import datetime
from pathlib import Path

from forescale.files.profile import measured_at, read_profile_file, write_profile_file
from modeling.calibration.calibrated import Calibrated
from modeling.calibration.drift import Drift, drifts
from modeling.inputs.operator_profile import OperatorProfile, Profiles


def settled_look(
    topology: str, base: Profiles, made: Calibrated, file: Path, now: datetime, apart_s: float
) -> tuple[Calibrated, tuple[Drift, ...], tuple[Drift, ...]]:
    """The calibration to plan by: as `made`, except that an operator unlike its profile in `base` keeps that profile
    until a look at least apart_s later agrees with this one. file: holds looks that wait for a second one.

    Also returns drifts that two looks show, and those that only this one does.
    """
    seen = drifts(base, made.profiles, lone=True)
    unlike = {drift.operator for drift in seen}
    confirmed = unlike & _agreeing(_earlier(file, now, apart_s), made.profiles)
    held = unlike - confirmed
    _keep(file, topology, {name: made.profiles[name] for name in held}, now, apart_s)
    operators = {
        name: replace(operator, profile=base[name], used=0) if name in held else operator
        for name, operator in made.operators.items()
    }
    return (
        replace(made, operators=operators),
        tuple(drift for drift in seen if drift.operator in confirmed),
        tuple(drift for drift in seen if drift.operator in held),
    )


def _agreeing(earlier: Profiles, now: Profiles) -> set[str]:
    apart = {drift.operator for drift in drifts(earlier, now, lone=True)}
    return {name for name in earlier if name in now and name not in apart}


def _earlier(file: Path, now: datetime, apart_s: float) -> dict[str, OperatorProfile]:
    if not file.exists():
        return {}
    at = measured_at(file)
    old_enough = at is not None and (now - at).total_seconds() >= apart_s
    return read_profile_file(file) if old_enough else {}


def _keep(file: Path, topology: str, held: dict[str, OperatorProfile], now: datetime, apart_s: float) -> None:
    if not held:
        file.unlink(missing_ok=True)
        return
    at = measured_at(file) if file.exists() else None
    if at is None or abs((now - at).total_seconds()) >= apart_s:
        write_profile_file(file, topology, held, now.isoformat())
