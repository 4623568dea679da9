"""The offered plan of every topology, read again and again in the background, so that no request waits for the ledger.

What was not read for FRESH_S is not known, and nothing is answered for it.
"""

import logging
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from forescale.codec import to_json
from forescale.files.file_error import FileError
from forescale.files.topology import topology_files
from forescale.settings import Settings
from forescale.situation.workspace import Workspace
from planner.errors import DamagedRowError, LedgerError
from planner.ledger.ledger import Ledger
from planner.offered import NoOffer, OfferedPlan, offered_plan

logger = logging.getLogger(__name__)

EVERY_S = 1.0
FRESH_S = 10.0
_WORDS = {
    NoOffer.NO_SCHEDULE: "no schedule was made yet; see `forescale plan`",
    NoOffer.ENDED: "the newest schedule has ended; see why none was made since: `forescale doctor`",
    NoOffer.NOT_BEGUN: "no approved step has begun; see `forescale plan list`",
}


@dataclass(frozen=True)
class Answer:
    """What is known of a topology at a moment. offer: None if nothing is, and `why` says why. operators: of the file,
    empty if that could not be read; names: what the engine calls them, where that differs.
    """

    topology: str
    at: datetime
    offer: OfferedPlan | None
    why: str = ""
    operators: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """For machines: `plan` is null if nothing is known."""
        plan = None if self.offer is None else to_json(self.offer)
        return {
            "topology": self.topology,
            "at": self.at.isoformat(),
            "plan": plan,
            "why": self.why,
            "names": dict(self.names),
        }


class ServedPlans:
    """Answers by topology, of all files in the folder of topologies. Files are read anew each time, and the ledger is
    looked for until there is one.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings, self._workspace = settings, Workspace(settings)
        self._read: Mapping[str, Answer] = {}
        self._read_at = -float("inf")
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="served plans", daemon=True)

    def __enter__(self) -> "ServedPlans":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()

    @property
    def fresh(self) -> bool:
        """Whether the ledger was read within FRESH_S."""
        return time.monotonic() - self._read_at <= FRESH_S

    def all(self) -> list[Answer]:
        return [answer for name in self._read if (answer := self.of(name)) is not None]

    def of(self, topology: str) -> Answer | None:
        """None for a topology that has no file."""
        now = self._workspace.clock.now()
        if not self.fresh:
            why = f"the ledger was not read for {FRESH_S:g} s; see the log of `forescale serve`"
            return Answer(topology, now, None, why)
        known = self._read.get(topology)
        if known is None or known.offer is None or now < known.offer.until:
            return known
        return replace(known, at=now, offer=None, why=_WORDS[NoOffer.ENDED])

    def unknown(self, topology: str) -> str:
        """What to say of a topology that has no file."""
        known = ", ".join(sorted(self._read)) or "none"
        return f"there is no topology {topology!r}; known are: {known}; add its file to {self._settings.topologies}"

    def _run(self) -> None:
        while not self._stop.is_set():
            begun_at = time.monotonic()
            try:
                self._read = self._all_read()
                self._read_at = begun_at
            except (LedgerError, OSError) as error:
                logger.warning("nothing was read: %s", error)
            except Exception:
                logger.exception("nothing was read")
            self._stop.wait(EVERY_S)

    def _all_read(self) -> dict[str, Answer]:
        """Raises LedgerError or OSError if nothing can be read."""
        ledger = self._workspace.existing_ledger
        answers = (self._answer(path.stem, ledger) for path in topology_files(self._settings.topologies))
        return {answer.topology: answer for answer in answers}

    def _answer(self, name: str, ledger: Ledger | None) -> Answer:
        """A file or a row that is damaged hides no other topology. Raises LedgerError."""
        now = self._workspace.clock.now()
        try:
            config = self._workspace.config(name)
        except FileError as error:
            return Answer(name, now, None, str(error))
        names: Mapping[str, str] = getattr(config.cluster_section, "operators", {})
        answer = Answer(config.topology, now, None, "", tuple(config.operators), names)
        if config.planning.shadow:
            return replace(answer, why="the topology is in shadow mode, so its plans are not offered")
        if ledger is None:
            return replace(answer, why=_WORDS[NoOffer.NO_SCHEDULE])
        try:
            offer = offered_plan(ledger, config.topology, now, asked_of_scaler=config.planning.served)
        except DamagedRowError as error:
            return replace(answer, why=str(error))
        return replace(answer, why=_WORDS[offer]) if isinstance(offer, NoOffer) else replace(answer, offer=offer)
