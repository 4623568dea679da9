"""Who wrote which field, as the API server keeps it."""

from datetime import UTC, datetime
from typing import Any

import pytest

from engines.kubernetes.ownership import field_managers, status_changed_at


def _entry(manager: str, time: str, fields: dict[str, Any], subresource: str = "") -> dict[str, Any]:
    return {"manager": manager, "time": time, "fieldsV1": fields, "subresource": subresource}


REPLICAS = {"f:spec": {"f:replicas": {}}}
BODY = {
    "metadata": {
        "creationTimestamp": "2026-01-05T08:00:00Z",
        "managedFields": [
            _entry("helm", "2026-01-05T08:00:00Z", {"f:spec": {"f:replicas": {}, "f:template": {}}}),
            _entry("forescale", "2026-01-05T09:00:00Z", REPLICAS, "scale"),
            _entry("kube-controller-manager", "2026-01-05T09:00:07Z", {"f:status": {}}, "status"),
            _entry("kube-controller-manager", "2026-01-05T08:30:00Z", {"f:status": {}}, "status"),
        ],
    }
}


def test_field_managers__have_those_first_that_wrote_last() -> None:
    assert field_managers(BODY, ("spec", "replicas")) == ("forescale", "helm")
    assert field_managers(BODY, ("spec", "template")) == ("helm",)
    assert field_managers(BODY, ("spec", "paused")) == ()
    assert field_managers({}, ("spec", "replicas")) == ()


def test_status__changed_when_a_controller_last_wrote_it() -> None:
    assert status_changed_at(BODY) == datetime(2026, 1, 5, 9, 0, 7, tzinfo=UTC)


def test_status__that_nobody_wrote_is_as_old_as_the_object() -> None:
    made = {"metadata": {"creationTimestamp": "2026-01-05T08:00:00Z"}}
    assert status_changed_at(made) == datetime(2026, 1, 5, 8, tzinfo=UTC)
    with pytest.raises(ValueError, match="isoformat"):
        status_changed_at({})
