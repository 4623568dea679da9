"""Parallel work on many topologies, by processes or Spark: a failure concerns one topology, which is named with its
cause.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, TypeVar

from forecasting.arrivals.spark_session import on_this_machine
from forecasting.errors import ForecastError, HistoryError, TrackingError
from forecasting.one_thread import one_thread
from forecasting.spark_tasks import LostTask, over_spark
from forescale.files.file_error import FileError
from forescale.jobs.workers import worker_processes
from forescale.situation.workspace import Workspace
from forescale.wiring.parts import task_session
from modeling.errors import ModelError
from planner.errors import ClusterError, LedgerError, PlanError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

Progress = Callable[[str, int, int], None]
"""Progress callback: kind of work, number done, total number."""

EXPECTED = (ClusterError, FileError, ForecastError, HistoryError, LedgerError, ModelError, PlanError, TrackingError)

Task = TypeVar("Task")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Failure:
    """Why the work of one topology failed, in a line."""

    cause: str


class TopologyWorkers(Protocol):
    """Runs one kind of work after another. Work is a module's function; tasks and results can be pickled."""

    def each(
        self, what: str, work: Callable[[Task], Result], tasks: Mapping[str, Task]
    ) -> tuple[dict[str, Result], dict[str, str]]:
        """Results by topology, and reasons of failure by topology."""


class WorkerProcesses:
    """Processes of this machine, reused from one kind of work to the next."""

    def __init__(self, count: int, progress: Progress | None = None) -> None:
        self._count, self._progress = count, progress
        self._pool: Executor = worker_processes(count)

    def __enter__(self) -> "WorkerProcesses":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.shutdown(cancel_futures=True)

    def each(
        self, what: str, work: Callable[[Task], Result], tasks: Mapping[str, Task]
    ) -> tuple[dict[str, Result], dict[str, str]]:
        found: dict[str, Result | Failure] = {}
        self._run_all(what, work, tasks, found)
        for name, task in tasks.items():
            if name not in found:
                # A process died, and the pool with it: running tasks one by one shows which one kills it.
                found[name] = self._run_alone(work, task)
                _report(self._progress, what, len(found), len(tasks))
        return _triaged({name: found[name] for name in tasks})

    def _run_all(
        self,
        what: str,
        work: Callable[[Task], Result],
        tasks: Mapping[str, Task],
        results: dict[str, Result | Failure],
    ) -> None:
        _report(self._progress, what, 0, len(tasks))
        try:
            waiting: dict[Future[Result | Failure], str] = {
                self._pool.submit(_guarded, work, task): name for name, task in tasks.items()
            }
            for future in as_completed(waiting):
                results[waiting[future]] = future.result()
                _report(self._progress, what, len(results), len(tasks))
        except BrokenProcessPool:
            self._renew()

    def _run_alone(self, work: Callable[[Task], Result], task: Task) -> Result | Failure:
        try:
            return self._pool.submit(_guarded, work, task).result()
        except BrokenProcessPool:
            self._renew()
            return Failure("its process was killed, perhaps for its memory; plan it alone to see where")

    def _renew(self) -> None:
        self._pool.shutdown()
        self._pool = worker_processes(self._count)


@dataclass(frozen=True)
class SparkWorkers:
    """The workers of a Spark session. They reach the ledger, the clusters and FORESCALE_HOME as this process does."""

    session: "SparkSession"
    progress: Progress | None = None

    def each(
        self, what: str, work: Callable[[Task], Result], tasks: Mapping[str, Task]
    ) -> tuple[dict[str, Result], dict[str, str]]:
        _report(self.progress, what, 0, len(tasks))
        made = over_spark(self.session, partial(_guarded, work), list(tasks.values()))
        _report(self.progress, what, len(tasks), len(tasks))
        return _triaged(
            {
                name: Failure(each.cause) if isinstance(each, LostTask) else each
                for name, each in zip(tasks, made, strict=True)
            }
        )


@contextmanager
def spark_workers(workspace: Workspace, progress: Progress | None = None) -> Iterator[SparkWorkers]:
    """Raises PlanError for a ledger that workers on other machines cannot reach, HistoryError if Spark does not
    start.
    """
    settings = workspace.settings
    if settings.ledger_is_a_file and not on_this_machine(settings.spark_master):
        raise PlanError(
            f"the workers of {settings.spark_master} may be on other machines, and the ledger is a file of this one; "
            "set FORESCALE_LEDGER_URL to a PostgreSQL that all of them reach, or FORESCALE_SPARK_MASTER to local[*]"
        )
    with task_session(settings, "forescale plan") as session:
        yield SparkWorkers(session, progress)


def _triaged(results: Mapping[str, Result | Failure]) -> tuple[dict[str, Result], dict[str, str]]:
    return (
        {name: each for name, each in results.items() if not isinstance(each, Failure)},
        {name: each.cause for name, each in results.items() if isinstance(each, Failure)},
    )


def _report(progress: Progress | None, what: str, done: int, of: int) -> None:
    if progress is not None:
        progress(what, done, of)


def _guarded(work: Callable[[Task], Result], task: Task) -> Result | Failure:
    try:
        with one_thread():
            return work(task)
    except EXPECTED as error:
        return Failure(str(error))
    except Exception as error:
        log.exception("%s failed", getattr(work, "__name__", work))
        return Failure(f"{type(error).__name__}: {' '.join(str(error).split())[:300] or 'without a message'}")
