"""Keys that the history has counted, in the streams that carry the counted events."""

from datetime import UTC, date, datetime
from pathlib import Path

import numpy as np
import pytest

from forecasting.arrivals.arrival_source import Arrivals, DailyKeyCounts, Measures, SourceArrivals
from forecasting.arrivals.store import write_history
from forescale.files.topology import TopologyConfig
from forescale.settings import Settings
from forescale.situation.counted_keys import counted_keys
from forescale.situation.workspace import Workspace
from modeling.inputs.key_histogram import KeyType

HOURS = 48


def config(*streams: dict[str, object], **operators: dict[str, object]) -> TopologyConfig:
    names = {"read", *(str(each["to"]) for each in streams)}
    return TopologyConfig.model_validate(
        {
            "topology": "calls",
            "operators": {name: {"service_s": 0.01, **operators.get(name, {})} for name in sorted(names)},
            "streams": list(streams),
        }
    )


def settings_with(tmp_path: Path, *days: DailyKeyCounts) -> Settings:
    settings = Settings(home=tmp_path)
    start, end = datetime(2003, 3, 3, tzinfo=UTC), datetime(2003, 3, 5, tzinfo=UTC)
    alive = np.array([[int(start.timestamp()), int(end.timestamp())]], dtype=np.int64) * 1_000_000
    counts = SourceArrivals(np.full(HOURS, 10, dtype=np.int64), alive)
    arrivals = Arrivals(start, end, 3600, Measures.OFFERED, {"read": counts}, days)
    write_history(arrivals, settings.history_dir, "calls", start, end)
    return settings


MONDAY = DailyKeyCounts("read", date(2003, 3, 3), {"a": 30, "b": 10}, residual=20, distinct_keys=12)
TUESDAY = DailyKeyCounts("read", date(2003, 3, 4), {"a": 48, "c": 2}, residual=90, distinct_keys=40)
KEYED = {"from": "read", "to": "join", "grouping": "fields"}


def test_days__are_added_up_and_shares_are_of_all_events(tmp_path: Path) -> None:
    keys = counted_keys(settings_with(tmp_path, MONDAY, TUESDAY).history_dir, "calls")["read"]
    # 200 events: 78 of a, 10 of b, 2 of c, 110 of others
    assert keys.histogram.shares == pytest.approx({"a": 0.39, "b": 0.05, "c": 0.01})
    # no fewer than the 40 of Tuesday
    assert (keys.histogram.distinct_keys, keys.days) == (40, 2)
    assert keys.until == datetime(2003, 3, 5, tzinfo=UTC)


def test_a_keyed_stream_of_the_source__has_the_counted_keys(tmp_path: Path) -> None:
    situation = Workspace(settings_with(tmp_path, MONDAY)).situation(config(KEYED))
    keys = situation.profiles["join"].keys_of("read->join")
    assert keys is not None
    assert keys.shares == pytest.approx({"a": 0.5, "b": 1 / 6})
    assert situation.counted_streams == {"read->join": "read"}


def test_counted_keys__pass_operators_that_keep_events_one_by_one(tmp_path: Path) -> None:
    of = config({"from": "read", "to": "parse"}, {"from": "parse", "to": "join", "grouping": "fields"})
    situation = Workspace(settings_with(tmp_path, MONDAY)).situation(of)
    assert situation.counted_streams == {"parse->join": "read"}


def test_counted_keys__are_not_those_of_the_words_that_events_are_split_into(tmp_path: Path) -> None:
    of = config(
        {"from": "read", "to": "split"},
        {"from": "split", "to": "count", "grouping": "fields", "selectivity": 8},
    )
    assert Workspace(settings_with(tmp_path, MONDAY)).situation(of).counted_streams == {}


def test_keys_that_the_file_declares__are_not_replaced(tmp_path: Path) -> None:
    of = config(KEYED, join={"key_shares": {"x": 0.2}})
    keys = Workspace(settings_with(tmp_path, MONDAY)).situation(of).profiles["join"].keys_of("read->join")
    assert keys is not None
    assert dict(keys.shares) == {"x": 0.2}


def test_without_a_history__keys_stay_unknown(tmp_path: Path) -> None:
    situation = Workspace(Settings(home=tmp_path)).situation(config(KEYED))
    assert situation.profiles["join"].keys_of("read->join") is None


def test_counted_keys__are_hashed_as_the_type_that_the_file_declares(tmp_path: Path) -> None:
    numbers = DailyKeyCounts("read", date(2003, 3, 3), {"7": 30}, residual=30)
    of = config(KEYED, join={"key_type": "long"})
    keys = Workspace(settings_with(tmp_path, numbers)).situation(of).profiles["join"].keys_of("read->join")
    assert keys is not None
    assert keys.key_type is KeyType.LONG
