"""`forescale guard`: the reactive safety net between forecasts."""

import getpass
from typing import TYPE_CHECKING, Annotated

import typer

from forescale.cli.installation import workspace_of
from forescale.cli.options import NamedTopology, TopologyName
from forescale.cli.output import AsJson, console, plain, say_json, table
from forescale.cli.stands_on import say_grounds
from planner.guard_facts import GuardState

if TYPE_CHECKING:
    from forescale.jobs.guard import Guarding
    from forescale.situation.workspace import Workspace
    from planner.ledger.entries import GuardAction


USUAL_S = 60.0
MAX_PAUSE_S = 300.0
"""Longest pause between turns while the cluster does not answer, unless the turns are farther apart anyway."""


def look(
    context: typer.Context,
    topology: TopologyName,
    every: Annotated[
        float | None, typer.Option(min=1, max=3600, help="Look again and again, so many seconds apart, until Ctrl-C.")
    ] = None,
    past: Annotated[
        bool, typer.Option("--past", help="Only what it did and advised, with verdicts, and the barred pairs.")
    ] = False,
    once: Annotated[bool, typer.Option("--once", hidden=True)] = False,
    watch: Annotated[bool, typer.Option("--watch", hidden=True)] = False,
    as_json: AsJson = False,
) -> None:
    """Look once, and act or advise; or what it did.

    By cron, if the DAG guard is off. What `forescale guard TOPOLOGY` does.
    """
    from forescale.jobs.guard import guard

    if sum((once, past, watch or every is not None)) > 1:
        raise typer.BadParameter("--every and --past exclude each other")
    workspace = workspace_of(context)
    if past:
        _show(workspace, topology, as_json=as_json)
        return
    if watch or every is not None:
        _watch(workspace, topology, every or USUAL_S, as_json=as_json)
        return
    with console.status(f"looking at {topology}"):
        turn = guard(workspace, topology)
    _say(turn, as_json=as_json)
    if turn.action is not None and turn.action.state is not GuardState.OPEN:
        raise typer.Exit(1)


def lift(
    context: typer.Context,
    topology: NamedTopology,
    diagnosis: Annotated[str, typer.Argument(help="As `guard --past` names it, like under-provisioned.")],
    action: Annotated[str, typer.Argument(help="As `guard --past` names it, like scale-up.")],
    as_json: AsJson = False,
) -> None:
    """Allow an action under a diagnosis again.

    After it kept failing, and was barred.
    """
    from forescale.cli.guard_json import barred_json
    from forescale.jobs import guard

    lifted = guard.lift(workspace_of(context), topology, diagnosis, action, by=getpass.getuser())
    if as_json:
        say_json(barred_json(lifted))
    else:
        plain(f"{lifted.action} under {lifted.diagnosis} is allowed again for {lifted.topology}")


def _show(workspace: "Workspace", topology: str, *, as_json: bool) -> None:
    from forescale.cli.guard_json import record_json
    from forescale.jobs.guard import guard_record
    from forescale.report.kit.guard_words import barred_words

    record = guard_record(workspace, topology)
    if as_json:
        say_json(record_json(record))
        return
    rows = [
        (f"{each.decided_at:%Y-%m-%d %H:%M:%S}", each.diagnosis, each.action, each.state, _outcome(each))
        for each in record.actions
    ]
    title = f"guard of {record.topology} (mode {record.mode})"
    if rows:
        console.print(table(title, ["at (UTC)", "diagnosis", "action", "state", "why, and what came of it"], rows))
    else:
        plain(f"{title}: nothing done so far")
    for pair in record.barred:
        plain(
            f"barred since {pair.since:%Y-%m-%d %H:%M} UTC: {pair.diagnosis} {pair.action} ({barred_words(pair)}); "
            f"`forescale guard lift {record.topology} {pair.diagnosis} {pair.action}` allows it again"
        )


def _watch(workspace: "Workspace", topology: str, every_s: float, *, as_json: bool) -> None:
    """An unreachable cluster or ledger does not end the watch: it is asked less and less often until it answers."""
    import sys

    from forescale.jobs.guard import guard
    from planner.errors import ClusterError, LedgerError

    first = True
    clock, pause_s = workspace.clock, every_s
    while True:
        try:
            turn = guard(workspace, topology)
            _say(turn, as_json=as_json, grounds=first or turn.action is not None)
            first, pause_s = False, every_s
        except (ClusterError, LedgerError) as error:
            print(f"forescale: {error}; the next turn is in {pause_s:g} s", file=sys.stderr, flush=True)
            clock.wait(pause_s)
            pause_s = max(every_s, min(2 * pause_s, MAX_PAUSE_S))
        else:
            clock.wait(every_s)


def _say(turn: "Guarding", *, as_json: bool, grounds: bool = True) -> None:
    """grounds: say what the turn stands on; `--json` always has it."""
    from forescale.cli.guard_json import turn_json
    from forescale.report.kit.guard_words import judgement_words, reason_words, reasons_words

    if as_json:
        say_json(turn_json(turn))
        return
    counts = " · ".join(f"{name} {count}" for name, count in turn.plan.items())
    plain(f"{turn.at:%Y-%m-%d %H:%M:%S} UTC: {counts}; {reasons_words(turn.reasons)}")
    for source, why in turn.unmeasured.items():
        plain(f"  arrivals at {source} are estimated: {why}")
    if turn.judged is not None:
        earlier = turn.judged
        plain(f"  {earlier.action} of {earlier.decided_at:%H:%M:%S} was {earlier.state}: {judgement_words(earlier)}")
    for advice in turn.advice:
        plain(f"  advice, nothing is deployed: {advice.action} ({reason_words(advice.reason)})")
    if turn.action is not None:
        plain(f"  {turn.action.action} by step {turn.action.step_id}: {_state(turn.action)}")
    if grounds:
        say_grounds(turn.stands_on)


def _state(action: "GuardAction") -> str:
    from forescale.report.kit.guard_words import judgement_words

    is_open = action.state is GuardState.OPEN
    return "deployed, its effect is judged later" if is_open else f"{action.state}, {judgement_words(action)}"


def _outcome(action: "GuardAction") -> str:
    from forescale.report.kit.guard_words import judgement_words, reason_words

    return ". ".join(filter(None, [reason_words(action.reason), judgement_words(action)]))
