"""What a description of raw events must say."""

import pytest

from forecasting.arrivals.counting.event_files import EventColumns, EventFiles
from forecasting.errors import HistoryError


def test_event_source__tells_the_source_once() -> None:
    with pytest.raises(HistoryError, match="source column 'feed' and constant source 'ingest'; give one of them"):
        EventFiles("events", EventColumns("at", source="feed"), source="ingest")
    with pytest.raises(HistoryError, match="source column None and constant source None; give one of them"):
        EventFiles("events", EventColumns("at"))


@pytest.mark.parametrize("zone", ["Europe/Nowhere", "../etc/passwd", ""])
def test_event_source__refuses_an_unknown_time_zone(zone: str) -> None:
    with pytest.raises(HistoryError, match="unknown time zone"):
        EventFiles("events", EventColumns("at"), source="ingest", timezone=zone)


def test_event_source__refuses_a_silence_of_no_length() -> None:
    with pytest.raises(HistoryError, match="max_silence_s 0; give a positive number"):
        EventFiles("events", EventColumns("at"), source="ingest", max_silence_s=0)


def test_event_source__refuses_an_unknown_format() -> None:
    with pytest.raises(HistoryError, match="format 'xlsx'; use one of parquet, csv, jsonl"):
        EventFiles("events", EventColumns("at"), source="ingest", format="xlsx")  # type: ignore[arg-type]
