"""A series of guard turns, from a job that is too small to the verdict on the guard's action."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from forescale.jobs.guard import Guarding, guard
from forescale.report.kit.guard_words import judgement_words, reasons_words
from forescale.settings import Settings
from forescale.situation.workspace import Workspace
from forescale.wiring.parts import clock_of, ledger_of, topology_config
from modeling.inputs.topology import Topology
from planner.errors import ClusterError
from planner.guard.look import Look
from planner.guard.window import Window
from planner.guard_facts import GuardState
from planner.ledger.entries import GuardAction

ACTS_WITHIN_S = 150.0
"""On Flink, with the demo's windows, a turn acts after about a minute; a slow machine takes longer."""

JUDGED_WITHIN_S = 180.0
"""After the action: about a minute again, plus its deployment."""


@dataclass(frozen=True)
class WatchedTurn:
    """One turn and its measurements. after_s: seconds from the beginning of the watch to the end of the turn.

    taken_per_s: throughput of all sources, None if not measured; backlog: waiting tuples, lag_s: age of the oldest of
    them; None if unknown.
    """

    after_s: float
    taken_per_s: float | None
    backlog: float | None
    lag_s: float | None
    turn: Guarding


@dataclass(frozen=True)
class Watch:
    """turns: in order. failure: why the job is not healed, empty if it is."""

    turns: tuple[WatchedTurn, ...]
    failure: str

    @property
    def action(self) -> GuardAction | None:
        """The newest action, in its final state."""
        return _newest_action(self.turns)

    @property
    def before(self) -> WatchedTurn | None:
        """The turn that decided on the action; the last one if none did."""
        deciding = [each for each in self.turns if each.turn.action is not None] or self.turns
        return deciding[-1] if deciding else None

    @property
    def after(self) -> WatchedTurn | None:
        """The last turn after that, which judged the action if any did; None without one."""
        return None if not self.turns or self.turns[-1] is self.before else self.turns[-1]


def watch_guard(
    settings: Settings,
    topology: str,
    *,
    acts_within_s: float = ACTS_WITHIN_S,
    judged_within_s: float = JUDGED_WITHIN_S,
    pause_s: float = 1.0,
    progress: Callable[[str], None] = lambda text: None,
) -> Watch:
    """Run turns as `forescale guard --every 60` does, until an action has its verdict or the time is over.

    pause_s: between two turns. progress: called with a line per turn, also for a turn in which the cluster does not
    answer; the watch then goes on. Raises PlanError if the guard is off.
    """
    declared, clock = topology_config(topology, settings).as_topology(), clock_of(settings)
    begun = clock.now()
    deadline = begun + timedelta(seconds=acts_within_s)
    turns: list[WatchedTurn] = []
    why = "no turn was made"
    while clock.now() < deadline:
        asked = clock.now()
        try:
            turn = guard(Workspace(settings), topology)
        except ClusterError as error:
            why = str(error)
            progress(why)
        else:
            why = reasons_words(turn.reasons)
            ended = clock.now()
            looks = [look for look in ledger_of(settings).guard.looks(declared.name) if look.at >= asked]
            after_s = (ended - begun).total_seconds()
            turns.append(_watched(declared, turn, looks[-1] if looks else None, after_s))
            progress(_in_a_line(turn))
            action = _newest_action(turns)
            if action is not None and action.state is not GuardState.OPEN:
                break
            if turn.action is not None:
                deadline = ended + timedelta(seconds=judged_within_s)
        clock.wait(pause_s)
    return Watch(tuple(turns), _failure(_newest_action(turns), why, acts_within_s, judged_within_s))


def _newest_action(turns: Sequence[WatchedTurn]) -> GuardAction | None:
    actions = (each.turn.action or each.turn.judged for each in reversed(turns))
    return next((action for action in actions if action is not None), None)


def _failure(action: GuardAction | None, why: str, acts_within_s: float, judged_within_s: float) -> str:
    """why: message of the last turn."""
    if action is None:
        return f"the guard did not act within {acts_within_s:g} s; its last turn said: {why}"
    if action.state is GuardState.OPEN:
        return f"{action.action} was not judged within {judged_within_s:g} s; the guard's last turn said: {why}"
    healed = action.state is GuardState.EFFECTIVE
    return "" if healed else f"{action.action} was {action.state}: {judgement_words(action)}"


def _watched(topology: Topology, turn: Guarding, look: Look | None, after_s: float) -> WatchedTurn:
    if look is None:
        return WatchedTurn(after_s, None, None, None, turn)
    taken_per_s = sum(Window(topology, (look,)).taken_per_s.values())
    backlog = sum(look.waiting.backlog.values()) if look.waiting.backlog else None
    return WatchedTurn(after_s, taken_per_s, backlog, look.waiting.lag_s, turn)


def _in_a_line(turn: Guarding) -> str:
    counts = " · ".join(f"{name} {count}" for name, count in turn.plan.items())
    if turn.judged is not None:
        return f"{counts}; {turn.judged.action} was {turn.judged.state}: {judgement_words(turn.judged)}"
    return f"{counts}; {reasons_words(turn.reasons)}"
