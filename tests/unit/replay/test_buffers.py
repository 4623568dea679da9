"""Buffers between a source and the operator that is full, by hand arithmetic: an instance does 10 tuples a second."""

import pytest
from replay_cases import START_S, load_of, plan, reality

from modeling.errors import ModelError
from modeling.rescaling.checkpoints import Checkpoints
from planner.clusters.engine_terms import EngineTerms
from planner.clusters.simulator_course import advanced, asked, backlog, started
from planner.clusters.simulator_state import Minute, SimulatorState

RATE_PER_S = 30.0


def ran(terms: EngineTerms, until_s: float, asked_s: float | None = None) -> tuple[SimulatorState, list[Minute]]:
    """30 a second, two instances that do 20, and four from a moment on; seconds since the start."""
    load = load_of([RATE_PER_S] * 10)
    world = reality(load, terms)
    state = started(world.network(plan(2), START_S), plan(2), START_S)
    found: list[Minute] = []
    moments = [asked_s, until_s] if asked_s is not None else [until_s]
    for moment_s in moments:
        state, minutes = advanced(state, world, load.traces(), START_S + moment_s, exactly=True)
        found += minutes
        if moment_s == asked_s:
            state = asked(state, world, plan(4))
    return state, found


def test_source__is_stopped_once_the_buffers_are_full() -> None:
    _, (first, second) = ran(EngineTerms(30.0, buffered=100.0), 120.0)
    # 10 a second are too many: 600 and 1200 have come and not been worked off, 100 of which are in buffers.
    assert first.backlog["ingest"] == pytest.approx(500.0)
    assert second.backlog["ingest"] == pytest.approx(1100.0)
    assert first.processed["ingest"] == pytest.approx(1200.0)
    # They are full after 10 s: in the steps that end later, ingest waits for room.
    assert first.blocked_s["ingest"] == pytest.approx(50.0)
    assert second.blocked_s["ingest"] == pytest.approx(60.0)


def test_lag__counts_what_is_in_buffers() -> None:
    _, (with_buffers,) = ran(EngineTerms(30.0, buffered=1e6), 60.0)
    _, (without,) = ran(EngineTerms(30.0), 60.0)
    # The oldest of 600 that wait came 20 s ago, wherever it waits.
    assert with_buffers.lag_s == without.lag_s == pytest.approx(20.0)
    assert (with_buffers.backlog["ingest"], without.backlog["ingest"]) == (0.0, pytest.approx(600.0))
    assert (with_buffers.blocked_s["ingest"], without.blocked_s["ingest"]) == (0.0, 60.0)


def test_rescale__reads_again_what_was_in_buffers() -> None:
    terms = EngineTerms(20.0, buffered=100.0)
    down, _ = ran(terms, 75.0, asked_s=60.0)
    # 600 waited, and 15 s · 30 have come since. None of them is in the buffers of a job that is down.
    assert down.content == pytest.approx((1050.0,))
    assert backlog(down.content, terms, runs=not down.rescaling) == pytest.approx([1050.0])
    _, minutes = ran(terms, 180.0, asked_s=60.0)
    # 1200 when it runs again; then 40 - 30 a second fewer: 800 after 40 s, 100 of them in buffers. Nothing is lost.
    assert minutes[1].backlog["ingest"] == pytest.approx(700.0)
    assert sum(minute.processed["ingest"] for minute in minutes[:2]) == pytest.approx(120 * RATE_PER_S - 800)
    assert minutes[1].lag_s == pytest.approx(1200 / RATE_PER_S)


@pytest.mark.parametrize(
    ("buffered", "waits"),
    [
        # Of 2400 that have come in 80 s, 1600 are worked off. At 60 s, when the last checkpoint began that was complete
        # then, it was 1200, and 600 waited: the source has to go back to 1200 …
        (0.0, 1200.0),
        # … or to 1500, where 300 of those were in buffers …
        (300.0, 900.0),
        # … and if all 600 were, some are still: the checkpoint holds them.
        (1000.0, 800.0),
    ],
)
def test_checkpoint__covers_what_was_in_buffers(buffered: float, waits: float) -> None:
    terms = EngineTerms(20.0, checkpoints=Checkpoints(60.0, 15.0), buffered=buffered)
    state, _ = ran(terms, 80.0, asked_s=80.0)
    assert state.content == pytest.approx((waits,))
    assert state.taken == pytest.approx((2400.0 - waits,))


def test_buffers__below_zero_are_refused() -> None:
    with pytest.raises(ModelError, match="buffered is -1"):
        EngineTerms(30.0, buffered=-1.0)
