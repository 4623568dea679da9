"""What it takes to make the forecasts of a batch again: as it is kept with their run in MLflow."""

from datetime import datetime
from typing import Self

from pydantic import BaseModel, ConfigDict, ValidationError

from forecasting.errors import TrackingError
from forecasting.siblings import LentShape
from forescale.files.events_section import EventsSection
from forescale.files.topology import ForecastEntry, TopologyConfig


class ForecastRequest(BaseModel):
    """events: as the topology file had them. timezones: of sources whose days are not those of UTC. like: siblings that
    the file named, by source; siblings: those whose shape what was asked had borrowed. trained: sources that were
    trained for it; demoted: horizons at which the naive forecaster stood in, with why, by source.
    model_versions, digests: of what was forecast, by source; empty until it was.
    """

    # JSON has no infinity: a correlation that is not known is written as text.
    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="strings")

    topology: str
    issued_at: datetime
    history_snapshot: str
    forecast: ForecastEntry
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
    """The request of a run. Raises TrackingError where it is none."""
    try:
        return ForecastRequest.model_validate(body)
    except ValidationError as error:
        problem = error.errors()[0]
        field = ".".join(str(part) for part in problem["loc"]) or "(file)"
        raise TrackingError(
            f"the request of run {run_id} cannot be read: {field}: {problem['msg']}; it was written by another version "
            "of forescale; install that one to repeat its forecasts"
        ) from None
