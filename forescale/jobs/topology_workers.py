"""The same work for many topologies at once, over processes or Spark: what fails is one topology, named, with its
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
from forescale.settings import Settings
from forescale.wiring.spark import task_session
from modeling.errors import ModelError
from planner.errors import ClusterError, LedgerError, PlanError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

Told = Callable[[str, int, int], None]
"""What is done, how many of it are, and of how many."""

EXPECTED = (ClusterError, FileError, ForecastError, HistoryError, LedgerError, ModelError, PlanError, TrackingError)

Task = TypeVar("Task")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Failure:
    """Why nothing came of one topology, in a line."""

    cause: str


class TopologyWorkers(Protocol):
    """Whoever does one kind of work after another. Work is a function of a module, tasks and results can be pickled."""

    def each(
        self, what: str, work: Callable[[Task], Result], tasks: Mapping[str, Task]
    ) -> tuple[dict[str, Result], dict[str, str]]:
        """What came of the task of each topology, and why nothing came of others."""


class WorkerProcesses:
    """Processes of this machine that live from one kind of work to the next."""

    def __init__(self, count: int, told: Told | None = None) -> None:
        self._count, self._told = count, told
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
        self._all(what, work, tasks, found)
        for name, task in tasks.items():
            if name not in found:
                # A process died, and took with it what others were at: one after another, it shows who kills it.
                found[name] = self._alone(work, task)
                _tell(self._told, what, len(found), len(tasks))
        return _sorted_out({name: found[name] for name in tasks})

    def _all(
        self,
        what: str,
        work: Callable[[Task], Result],
        tasks: Mapping[str, Task],
        found: dict[str, Result | Failure],
    ) -> None:
        _tell(self._told, what, 0, len(tasks))
        try:
            waiting: dict[Future[Result | Failure], str] = {
                self._pool.submit(_guarded, work, task): name for name, task in tasks.items()
            }
            for future in as_completed(waiting):
                found[waiting[future]] = future.result()
                _tell(self._told, what, len(found), len(tasks))
        except BrokenProcessPool:
            self._renew()

    def _alone(self, work: Callable[[Task], Result], task: Task) -> Result | Failure:
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
    told: Told | None = None

    def each(
        self, what: str, work: Callable[[Task], Result], tasks: Mapping[str, Task]
    ) -> tuple[dict[str, Result], dict[str, str]]:
        _tell(self.told, what, 0, len(tasks))
        made = over_spark(self.session, partial(_guarded, work), list(tasks.values()))
        _tell(self.told, what, len(tasks), len(tasks))
        return _sorted_out(
            {
                name: Failure(each.cause) if isinstance(each, LostTask) else each
                for name, each in zip(tasks, made, strict=True)
            }
        )


@contextmanager
def spark_workers(settings: Settings, told: Told | None = None) -> Iterator[SparkWorkers]:
    """Raises PlanError for a ledger that workers of other machines cannot reach, HistoryError where Spark does not
    start.
    """
    if settings.ledger_is_a_file and not on_this_machine(settings.spark_master):
        raise PlanError(
            f"the workers of {settings.spark_master} may be on other machines, and the ledger is a file of this one; "
            "set FORESCALE_LEDGER_URL to a PostgreSQL that all of them reach, or FORESCALE_SPARK_MASTER to local[*]"
        )
    with task_session(settings, "forescale plan") as session:
        yield SparkWorkers(session, told)


def _sorted_out(made: Mapping[str, Result | Failure]) -> tuple[dict[str, Result], dict[str, str]]:
    return (
        {name: each for name, each in made.items() if not isinstance(each, Failure)},
        {name: each.cause for name, each in made.items() if isinstance(each, Failure)},
    )


def _tell(told: Told | None, what: str, done: int, of: int) -> None:
    if told is not None:
        told(what, done, of)


def _guarded(work: Callable[[Task], Result], task: Task) -> Result | Failure:
    try:
        with one_thread():
            return work(task)
    except EXPECTED as error:
        return Failure(str(error))
    except Exception as error:
        log.exception("%s failed", getattr(work, "__name__", work))
        return Failure(f"{type(error).__name__}: {' '.join(str(error).split())[:300] or 'it says nothing more'}")
