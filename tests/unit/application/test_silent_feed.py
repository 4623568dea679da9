"""A feed of which nothing was observed lately is told by plans and by `doctor`."""

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from shadow_days import BEFORE, FIRST, MONDAY, install, plan_now, write_arrivals

from forecasting.arrivals.arrival_source import Measures
from forecasting.arrivals.history import ArrivalSeries
from forescale.cli.schedule_answer import schedule_answer
from forescale.doctor.examination import AilmentError
from forescale.doctor.topology_checks import Patient, _history
from forescale.history.silence import silent_s
from forescale.settings import Settings
from forescale.situation.workspace import Workspace


def silent_since(settings: Settings, at: datetime) -> None:
    """The history is built until now, and the feed was not seen alive since then."""
    write_arrivals(settings, MONDAY - BEFORE, FIRST, alive=((MONDAY - BEFORE, at),))


@pytest.mark.parametrize(
    ("minutes", "told"), [(0, False), (10, False), (50, True)], ids=["observed", "shortly late", "silent"]
)
def test_plan__says_first_that_a_feed_is_silent(tmp_path: Path, minutes: int, told: bool) -> None:
    settings = install(tmp_path, "act")
    silent_since(settings, FIRST - timedelta(minutes=minutes))
    warnings = schedule_answer(plan_now(settings)).warnings
    assert (
        any(
            "Nothing was observed of read in the last 50" in each.replace("\N{NO-BREAK SPACE}", " ")
            for each in warnings
        )
        == told
    )


def test_doctor__fails_a_history_of_which_nothing_was_observed_for_longer_than_plans_may_be_old(tmp_path: Path) -> None:
    settings = install(tmp_path, "act")
    workspace = Workspace(settings)
    silent_since(settings, FIRST - timedelta(hours=2))
    seen = _history(Patient(workspace, "pair"))
    assert seen.endswith("until 2026-03-02 06:00 UTC; nothing of read was observed in its last 120 min")
    silent_since(settings, FIRST - timedelta(minutes=10))
    assert _history(Patient(workspace, "pair")).endswith("until 2026-03-02 06:00 UTC")
    # planning.stale_s is 3 h.
    silent_since(settings, FIRST - timedelta(hours=4))
    with pytest.raises(AilmentError, match="nothing of read was observed since 2026-03-02 02:00 UTC"):
        _history(Patient(workspace, "pair"))


def test_doctor__says_of_a_feed_that_counts_throughput_alone_that_it_is_throttled(tmp_path: Path) -> None:
    settings = install(tmp_path, "act")
    write_arrivals(settings, MONDAY - BEFORE, FIRST, measures=Measures.THROUGHPUT)
    with pytest.raises(AilmentError, match="nothing of read was observed since 2026-02-28 00:00 UTC") as found:
        _history(Patient(Workspace(settings), "pair"))
    assert "most of the rest is throttled" in found.value.remedy
    assert "measures: offered" in found.value.remedy


def test_silence__is_none_at_times_at_which_nothing_comes_on_other_days_either() -> None:
    counts = np.tile(np.repeat([0.0, 7.0], [6, 18]), 3)  # hours; closed until 6
    counts[-24:-18] = np.nan  # the third day's night
    series = ArrivalSeries("t", "s", MONDAY, 3600, counts)

    def told(hour: int, known: int) -> float:
        return silent_s(replace(series, counts=counts[: 48 + known]), MONDAY + timedelta(days=2, hours=hour))

    assert told(6, 6) == 0
    assert told(6, 0) == 0  # nothing was built of it
    assert told(7, 6) == 7 * 3600  # an hour in which 7 came on other days
    assert told(8, 7) == 3600
