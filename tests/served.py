"""`forescale serve` as a process, over a home with an approved schedule."""

import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from subprocess import Popen

import httpx
from ledger_decisions import NOON, after, steps_at
from server_process import killed, started

from forescale.settings import Settings
from planner.clock import TraceClock
from planner.ledger.ledger import Ledger

TOPOLOGY = """
topology: calls
operators:
  ingest: {service_s: 0.001}
  transcribe: {service_s: 0.1}
streams: [{from: ingest, to: transcribe}]
planning: {mode: serve}
"""


@dataclass
class Home:
    settings: Settings
    clock: TraceClock

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.settings.ledger_sqlalchemy_url, self.settings.home)

    def plan(self, *steps: tuple[float, int]) -> str:
        """Approved steps by minutes after noon and instances of transcribe; the id of their schedule."""
        made = self.ledger.record_schedule(steps_at(*steps, made_at=self.clock.now()))
        self.ledger.approve_schedule(made, at=self.clock.now(), by="anna", why="as planned")
        return made

    def go_to(self, minute: float) -> None:
        self.clock.advance_to(after(minute))


@dataclass
class Served:
    process: "Popen[bytes]"
    log: Path
    http: str
    keda: str

    def plan(self, topology: str = "calls") -> httpx.Response:
        return httpx.get(f"{self.http}/plan/{topology}", timeout=60)

    def until(self, count: int | None, within_s: float = 120) -> httpx.Response:
        """The answer from when so many instances of transcribe are planned; None: from when nothing is known."""
        deadline = time.monotonic() + within_s
        while True:
            answer = self.plan()
            plan = answer.json()["plan"]
            if (None if plan is None else plan["parallelism"]["transcribe"]) == count:
                return answer
            assert time.monotonic() < deadline, (answer.text, self.log.read_text())
            time.sleep(0.1)


def home(folder: Path) -> Home:
    (folder / "calls.yaml").write_text(TOPOLOGY)
    (folder / "forescale.env").write_text("FORESCALE_CLOCK=trace\n")
    settings = Settings(home=folder, topologies=folder, clock="trace")
    clock = TraceClock(settings.clock_file)
    clock.start_at(NOON)
    return Home(settings, clock)


@contextmanager
def served(folder: Path, *options: str) -> Iterator[Served]:
    log = folder / "serve.log"
    command = [
        sys.executable,
        "-uc",
        "from forescale.cli import main; main()",
        "serve",
        "--http",
        "127.0.0.1:0",
        "--keda",
        "127.0.0.1:0",
    ]
    environment = ["env", f"FORESCALE_HOME={folder}", f"FORESCALE_TOPOLOGIES={folder}"]
    process = started([*environment, *command, *options], log, folder)
    try:
        deadline = time.monotonic() + timedelta(minutes=2).total_seconds()
        while not (found := re.search(r"plans: (\S+)/plan, .* KEDA: (\S+)", log.read_text())):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
        yield Served(process, log, found[1], found[2])
    finally:
        killed(process)
