"""The inputs needed to repeat the forecasts of a batch, stored with their MLflow run."""

from datetime import datetime
from typing import Self

from pydantic import BaseModel, ConfigDict, ValidationError

from forecasting.errors import TrackingError
from forecasting.siblings import LentShape
from forescale.files.events_section import EventsSection
from forescale.files.topology import ForecastSection, TopologyConfig


class ForecastRequest(BaseModel):
    """events: as in the topology file. timezones: of sources whose days are not UTC days. like: siblings named in the
    file, by source; siblings: those whose shape the model used had borrowed. trained: sources trained for this run;
    demoted: horizons at which the naive forecaster stood in, with the reason, by source. model_versions, digests: of
    the forecasts, by source; empty until they are made.
    """

    # JSON has no infinity or NaN: an unknown correlation is written as text.
    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="strings")

    topology: str
    issued_at: datetime
    history_snapshot: str
    forecast: ForecastSection
    events: EventsSection = []
    timezones: dict[str, str] = {}
    like: dict[str, list[str]] = {}
    siblings: dict[str, tuple[LentShape, ...]] = {}
    trained: tuple[str, ...] = ()
    demoted: dict[str, dict[int, str]] = {}
    model_versions: dict[str, str] = {}
    digests: dict[str, str] = {}

    @classmethod
    def of(cls, config: TopologyConfig, now: datetime, history_snapshot: str) -> Self:
        return cls(
            topology=config.topology,
            issued_at=now,
            history_snapshot=history_snapshot,
            forecast=config.forecast,
            events=config.events,
            timezones=config.timezones,
            like=config.like,
        )


def forecast_request(body: object, run_id: str) -> ForecastRequest:
    """The request of a run. Raises TrackingError if it cannot be read."""
    try:
        return ForecastRequest.model_validate(body)
    except ValidationError as error:
        problem = error.errors()[0]
        field = ".".join(str(part) for part in problem["loc"]) or "(file)"
        raise TrackingError(
            f"the request of run {run_id} cannot be read: {field}: {problem['msg']}; it was written by another version "
            "of forescale; install that one to repeat its forecasts"
        ) from None
