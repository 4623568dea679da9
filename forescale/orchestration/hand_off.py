"""What one DAG hands on to the next: assets, one event a topology, and the form field they have in common."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol

from airflow.sdk import Asset, Param, task

ARRIVAL_HISTORY = Asset("arrival_history")
FORECASTS = Asset("forecasts")
SCHEDULES = Asset("schedules")
"""Each event's extra is what the job returned, as `forescale.codec` hands it over; at least {"topology": name}."""

RETRIES = {"retries": 2, "retry_delay": timedelta(seconds=10)}
"""Of every task: a cluster or a database that does not answer for a moment. Jobs are idempotent."""

PATIENT = {"retries": 8, "retry_exponential_backoff": True, "max_retry_delay": timedelta(minutes=5)}
"""Of a deployment: it is taken up again for about half an hour while the cluster does not answer."""

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
    """What follows on the tasks of one topology, and runs where one of them failed: `plan` begins all the same, by what
    there is (docs/decision.md, "What is planned by"). Where they succeed it is skipped, and nothing is planned twice.
    """
    outlet_events[FORECASTS].extra = {"topology": topology, "failed": f"{dag_run.dag_id} {dag_run.run_id}"}


@task(trigger_rule="one_failed", retries=0)
def fail_the_run() -> None:
    """What follows on all tasks: Airflow judges a run by its last ones, and `plan_anyway` may have succeeded."""
    from airflow.sdk.exceptions import AirflowFailException

    raise AirflowFailException(
        "a task of this run failed; its log says why, and planning went on with the forecasts at hand"
    )


class _Event(Protocol):
    extra: Mapping[str, Any]


def topologies_to_do(asked: str | None, events: Mapping[Any, Iterable[_Event]], folder: Path) -> list[str]:
    """Names of topologies, each once: the one asked for, or those the events hand over, or else all in the folder.

    Several quick events make one run, so every event counts; an event that names no topology (made by hand in the UI)
    stands for all. Raises ValueError where the folder holds no topology file.
    """
    if asked:
        return [asked]
    extras = [event.extra for queued in events.values() for event in queued]
    if extras and all("topology" in extra for extra in extras):
        return list(dict.fromkeys(str(extra["topology"]) for extra in extras))
    if names := sorted(path.stem for path in folder.glob("*.yaml")):
        return names
    raise ValueError(f"no topology file (*.yaml) in {folder}; add one, or set FORESCALE_TOPOLOGIES to their folder")
