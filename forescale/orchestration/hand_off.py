"""What one DAG hands to the next: assets, one event per topology, and the form field that all DAGs share."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol

from airflow.sdk import Asset, Param, task

ARRIVAL_HISTORY = Asset("arrival_history")
FORECASTS = Asset("forecasts")
SCHEDULES = Asset("schedules")
"""Each event's extra is what its task hands over, as written by `forescale.codec`; at least {"topology": name}."""

RETRIES = {"retries": 2, "retry_delay": timedelta(seconds=10)}
"""Retries of every task, for a cluster or database that does not answer for a moment. Jobs are idempotent."""

ASKED = {"retries": 8, "retry_delay": timedelta(seconds=10)}
"""Retries of a review: a busy scheduler may take several tries for killed, and no answer may be lost by that."""

PATIENT = {"retries": 8, "retry_exponential_backoff": True, "max_retry_delay": timedelta(minutes=5)}
"""Retries of a deployment: for about half an hour while the cluster does not answer."""

ONE_TOPOLOGY = Param(
    None,
    type=["null", "string"],
    pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$",
    maxLength=80,
    title="Topology",
    description="Name of one topology file, without .yaml. Empty: those handed over, or else all.",
)


@task
def topologies(params: Mapping[str, Any], triggering_asset_events: Mapping[Any, Iterable["_Event"]]) -> list[str]:
    """The task that a DAG expands its others over."""
    from forescale.settings import Settings

    return topologies_to_do(params["topology"], triggering_asset_events, Settings().topologies)


@task(outlets=[FORECASTS], trigger_rule="one_failed", map_index_template="{{ task.op_kwargs['topology'] }}")
def plan_anyway(topology: str, dag_run: Any, outlet_events: Any) -> None:
    """Runs after the tasks of one topology if one of them failed: it starts `plan` with the forecasts at hand
    (docs/planning.md, "What is planned by"). It is skipped if they succeed, so that nothing is planned twice.
    """
    outlet_events[FORECASTS].extra = {"topology": topology, "failed": f"{dag_run.dag_id} {dag_run.run_id}"}


@task(trigger_rule="one_failed", retries=0)
def fail_the_run() -> None:
    """Runs after all tasks: Airflow judges a run by its last tasks, and `plan_anyway` may have succeeded."""
    from airflow.sdk.exceptions import AirflowFailException

    raise AirflowFailException(
        "a task of this run failed; its log says why, and planning went on with the forecasts at hand"
    )


class _Event(Protocol):
    extra: Mapping[str, Any]


def topologies_to_do(requested: str | None, events: Mapping[Any, Iterable[_Event]], folder: Path) -> list[str]:
    """Names of topologies, each once: the requested one, or those in the events, or else all in the folder.

    Several quick events make one run, so every event counts; an event without a topology (made by hand in the UI)
    stands for all. Raises ValueError if the folder holds no topology file.
    """
    if requested:
        return [requested]
    extras = [event.extra for queued in events.values() for event in queued]
    if extras and all("topology" in extra for extra in extras):
        return list(dict.fromkeys(str(extra["topology"]) for extra in extras))
    if names := sorted(path.stem for path in folder.glob("*.yaml")):
        return names
    raise ValueError(f"no topology file (*.yaml) in {folder}; add one, or set FORESCALE_TOPOLOGIES to their folder")
