"""Stores the page of a replay among the reports and in MLflow. If a store fails, the replay only gets a note."""

from dataclasses import asdict, replace
from pathlib import Path

from forecasting.errors import TrackingError
from forescale.files.atomic import write_whole
from forescale.jobs.replay import ReplayedPolicies
from forescale.situation.workspace import Workspace
from forescale.tracking.replay_runs import MadeReplay, log_replay
from planner.replay.timeline import decisions_path, read_timeline


def replay_page_file(workspace: Workspace, topology: str) -> Path:
    """Path of the page of the last replay through a known topology."""
    return workspace.settings.reports_dir / topology / "replay.html"


def tracked(workspace: Workspace, done: ReplayedPolicies) -> ReplayedPolicies:
    """The same with the id of its run, or a note why there is none. Afterwards its page is among the reports of the
    topology.
    """
    from forescale.report.replay.page import render_replay_page

    against = done.differences[0].against if done.differences else None
    page = render_replay_page(read_timeline(done.timeline), against)
    try:
        write_whole(page, replay_page_file(workspace, done.topology))
    except OSError as error:
        done = replace(done, notes=(*done.notes, f"the page of the replay is not among the reports: {error}"))
    params = {"start": done.start, "end": done.end, "max_lag_s": done.max_lag_s, "against": against}
    terms = asdict(done.terms)
    terms |= terms.pop("deviations")
    made = MadeReplay(
        done.topology,
        f"replay {done.topology} {done.start:%Y-%m-%d %H:%M} to {done.end:%Y-%m-%d %H:%M}",
        params | {"policies": ",".join(score.policy for score in done.scores)} | terms,
        done.scores,
        (done.timeline, decisions_path(done.timeline)),
        lambda: page,
    )
    try:
        return replace(done, run_id=log_replay(made, workspace.settings))
    except TrackingError as error:
        return replace(done, notes=(*done.notes, f"the replay is not in MLflow: {error}"))
    except Exception as error:  # noqa: BLE001 - any store error; its text may hold credentials
        return replace(done, notes=(*done.notes, f"the replay is not in MLflow ({type(error).__name__})"))
