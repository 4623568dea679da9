"""A calibration as fields for JSON."""

from typing import Any

from forescale.codec import to_json
from forescale.jobs.calibrate import CalibratedTopology
from forescale.report.kit.drift_words import drift_remedy
from modeling.calibration.calibrated import CalibratedOperator
from modeling.calibration.sifting import Marked


def calibration_fields(calibration: CalibratedTopology) -> dict[str, Any]:
    """All fields. Per operator: its profile, as in a profile file, and the samples used and dropped; per source: the
    offered load; drifts.
    """
    made = calibration.made
    return {
        "topology": calibration.config.topology,
        "profile_file": str(calibration.path),
        "operators": {name: _operator(operator) for name, operator in made.operators.items()},
        "offered": {
            source: {
                "rate_per_s": load.rate_per_s,
                "censored": load.censored,
                "free_spans": load.spans[0],
                "spans": load.spans[1],
            }
            for source, load in made.offered.items()
        },
        "drifts": [{**to_json(drift), "remedy": drift_remedy(drift)} for drift in calibration.drifts],
        "unsettled_s": calibration.unsettled_s,
    }


def _operator(calibrated: CalibratedOperator) -> dict[str, Any]:
    return {
        "measured": calibrated.used > 0,
        **to_json(calibrated.profile),
        "used": calibrated.used,
        "dropped": [_marked(one) for one in calibrated.dropped],
        "censored": [_marked(one) for one in calibrated.censored],
        "notes": list(calibrated.notes),
    }


def _marked(one: Marked) -> dict[str, Any]:
    return {"index": one.index, "began_s": one.began_s, "why": one.why}
