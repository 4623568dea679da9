"""The same work for many topologies over processes: what fails is one topology, named, with its cause."""

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from types import TracebackType
from typing import TypeVar

from forecasting.errors import ForecastError, HistoryError, TrackingError
from forecasting.one_thread import one_thread
from forescale.files.file_error import FileError
from forescale.jobs.workers import worker_processes
from modeling.errors import ModelError
from planner.errors import ClusterError, LedgerError, PlanError

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


class TopologyWorkers:
    """Processes that live from one kind of work to the next. Work is a function of a module, tasks can be pickled."""

    def __init__(self, count: int, told: Told | None = None) -> None:
        self._count, self._told = count, told
        self._pool: Executor = worker_processes(count)

    def __enter__(self) -> "TopologyWorkers":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.shutdown(cancel_futures=True)

    def each(
        self, what: str, work: Callable[[Task], Result], tasks: Mapping[str, Task]
    ) -> tuple[dict[str, Result], dict[str, str]]:
        """What came of the task of each topology, and why nothing came of others."""
        found: dict[str, Result | Failure] = {}
        self._all(what, work, tasks, found)
        for name, task in tasks.items():
            if name not in found:
                # A process died, and took with it what others were at: one after another, it shows who kills it.
                found[name] = self._alone(work, task)
                self._tell(what, len(found), len(tasks))
        made = {name: found[name] for name in tasks}
        return (
            {name: each for name, each in made.items() if not isinstance(each, Failure)},
            {name: each.cause for name, each in made.items() if isinstance(each, Failure)},
        )

    def _all(
        self,
        what: str,
        work: Callable[[Task], Result],
        tasks: Mapping[str, Task],
        found: dict[str, Result | Failure],
    ) -> None:
        self._tell(what, 0, len(tasks))
        try:
            waiting: dict[Future[Result | Failure], str] = {
                self._pool.submit(_guarded, work, task): name for name, task in tasks.items()
            }
            for future in as_completed(waiting):
                found[waiting[future]] = future.result()
                self._tell(what, len(found), len(tasks))
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

    def _tell(self, what: str, done: int, of: int) -> None:
        if self._told is not None:
            self._told(what, done, of)


def _guarded(work: Callable[[Task], Result], task: Task) -> Result | Failure:
    try:
        with one_thread():
            return work(task)
    except EXPECTED as error:
        return Failure(str(error))
    except Exception as error:
        log.exception("%s failed", getattr(work, "__name__", work))
        return Failure(f"{type(error).__name__}: {' '.join(str(error).split())[:300] or 'it says nothing more'}")
