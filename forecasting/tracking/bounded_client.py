"""MLflow's client with an end in time and size: its own has neither."""

from functools import partial
from typing import TYPE_CHECKING, Any

from engines.deadline import left_s, waiting, within
from engines.redaction import without_credentials

if TYPE_CHECKING:
    from mlflow import MlflowClient

ARTIFACTS_S = 300.0
"""Longest time of a call that moves artifacts."""


class BoundedClient:
    """An MlflowClient of which every call ends in its time, however slowly the store answers: TimeoutError.

    call_s: longest time of a call that moves no artifacts.
    """

    def __init__(self, client: "MlflowClient", uri: str, call_s: float) -> None:
        self._client = client
        self._place = f"MLflow at {without_credentials(uri)}"
        self._call_s = call_s

    def __getattr__(self, name: str) -> Any:
        called = getattr(self._client, name)
        if not callable(called):
            return called
        longest_s = ARTIFACTS_S if "artifact" in name else self._call_s

        def bounded(*values: Any, **named: Any) -> Any:
            most_s = left_s(longest_s)
            with waiting(self._place, most_s):
                return within(most_s, partial(called, *values, **named))

        return bounded
