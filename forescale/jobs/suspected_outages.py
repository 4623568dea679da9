"""Spans of the newest history that look like an outage, and that no event of the topology file covers."""

import logging
from datetime import datetime, timedelta

from forecasting.errors import CalendarError
from forecasting.events.calendar import EventCalendar
from forecasting.outage_shape import MAX_SPAN_S, SuspectedOutage, suspected_outages
from forescale.files.events_section import EventEntry, event_calendar
from forescale.files.topology import TopologyConfig
from forescale.situation.situation import Situation

logger = logging.getLogger(__name__)

ASKED_ABOUT = timedelta(days=28)
"""Spans that ended earlier are not asked about: they hardly count in a forecast."""
LOOKED_AT = ASKED_ABOUT + timedelta(seconds=MAX_SPAN_S)
"""A span of the longest kind may have ended just within ASKED_ABOUT."""


def recent_suspects(situation: Situation, now: datetime) -> tuple[SuspectedOutage, ...]:
    """By source, in order of time. Raises HistoryError if there is no history."""
    config, known = situation.config, now - LOOKED_AT
    history = situation.history.between(known, now).in_local_time(config.timezones)
    events = known_events(config, known, now)
    return tuple(
        span
        for source in config.as_topology().sources
        if source in history.series
        for span in suspected_outages(history.series[source], events)
        if span.end > now - ASKED_ABOUT
    )


def known_events(config: TopologyConfig, start: datetime, end: datetime) -> EventCalendar:
    """All events of the file; without its holidays if these cannot be computed."""
    try:
        return event_calendar(config.events, start, end)
    except CalendarError as error:
        logger.warning("the usual week of %s knows no holidays: %s", config.topology, error)
        return event_calendar([event for event in config.events if isinstance(event, EventEntry)], start, end)
