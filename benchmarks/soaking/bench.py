"""The set-up of a soak: topologies with a daily wave, a real Prometheus with their arrivals, a small disk.

Arrivals of all days are written into Prometheus before it starts; the relay before it hides those of a time to come.
The cluster is the simulator; it replays the same arrivals without the poison, which is only in the metrics.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from prometheus_server import LOOPBACK, _free_port, _wait_until_ready, backfill, openmetrics
from relay import SLOW

from forecasting.arrivals.arrival_source import Arrivals, Measures, SourceArrivals
from forecasting.arrivals.store import write_history
from forescale.settings import Settings
from modeling.arrays import Floats, Ints
from planner.clock import TraceClock

START = datetime(2026, 3, 9, tzinfo=UTC)
"""Start of the run, a Monday. History begins BEFORE days earlier."""
BEFORE = 4
TICK = timedelta(minutes=5)
"""Jobs run this long after each full hour, as by FORESCALE_SCHEDULE."""

TOPOLOGY = """
topology: {name}
operators:
  receive: {{ service_s: 0.001 }}
  work: {{ service_s: {service_s:.3f} }}
streams:
  - {{ from: receive, to: work }}
arrivals:
  kind: prometheus
  url: {url}
  queries: {{ receive: 'arrivals_total{{topology="{name}"}}' }}
  measures: offered
  scrape_interval_s: 60
  timeout_s: 3
forecast: {{ step_s: 900, horizon_s: 21600, train_days: 4, origins: 2, paths: 100, refit_s: 86400 }}
planning:
  {{ rescale_cost_instance_hours: 0.1, max_instances: 24, hold_s: 5, max_catch_up_s: 30, lead_s: 60, downtime_s: 10 }}
cluster: {{ kind: simulator, truth: truth, slots: 32, downtime_s: 8, parallelism: {{ receive: 1, work: 3 }} }}
"""


@dataclass(frozen=True)
class Poison:
    """An hour with wrong metrics of a topology. hour: number since START."""

    topology: str
    hour: int


@dataclass
class Bench:
    """work: the folder of everything. disk: the folder that may get full; image: the file that holds it if it is a file
    system of its own.
    """

    work: Path
    settings: Settings
    clock: TraceClock
    prometheus: "PrometheusProcess"
    disk: Path
    limited: bool
    topologies: tuple[str, ...] = field(default=())

    @property
    def grows(self) -> dict[str, Path]:
        """Folders that grow, by their contents."""
        names = ("history", "forecasts", "trained", "reports", "mlruns", "ledger")
        return {name: self.disk / name for name in names} | {"simulator": self.settings.home / "simulator"}


class PrometheusProcess:
    """A Prometheus on a folder, and before it the relay that jobs ask, which can be stopped, started and slow."""

    def __init__(self, folder: Path, clock: Path) -> None:
        self.folder, self._clock, self._slow = folder, clock, folder / "slow"
        folder.mkdir(parents=True, exist_ok=True)
        ports = folder / "ports"
        if not ports.exists():
            ports.write_text(f"{_free_port()} {_free_port()}")
        self._port, own = ports.read_text().split()
        self.url, self._own = f"http://{LOOPBACK}:{self._port}", f"{LOOPBACK}:{own}"
        self._process: subprocess.Popen[bytes] | None = None
        self._relay: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._start_prometheus()
        if self._relay is None:
            program = Path(__file__).with_name("relay.py")
            command = [sys.executable, program, self._port, f"http://{self._own}", self._clock, self._slow]
            with (self.folder / "log").open("a") as out:
                self._relay = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
            if not self._slow.exists():
                _wait_until_ready(self.url, self._relay, self.folder / "log")

    def _start_prometheus(self) -> None:
        if self._process is not None:
            return
        (self.folder / "prometheus.yml").write_text("scrape_configs: []\n")
        command = ["prometheus", f"--config.file={self.folder / 'prometheus.yml'}", "--log.level=warn"]
        command += [f"--storage.tsdb.path={self.folder / 'data'}", "--storage.tsdb.retention.time=50y"]
        log = self.folder / "log"
        with log.open("a") as out:
            command.append(f"--web.listen-address={self._own}")
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        _wait_until_ready(f"http://{self._own}", self._process, log, timeout_s=300)

    def end(self) -> None:
        self.stop()
        if self._process is not None:
            self._process.terminate()
            self._process.wait(timeout=120)
            self._process = None

    def stop(self) -> None:
        """Refuse connections."""
        if self._relay is not None:
            self._relay.kill()
            self._relay.wait(timeout=120)
            self._relay = None

    def hang(self) -> None:
        """Accept connections but do not answer."""
        if self._relay is not None:
            self._relay.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        if self._relay is not None:
            self._relay.send_signal(signal.SIGCONT)

    def slow_down(self) -> None:
        """Answer with a byte a second."""
        self._slow.touch()

    def hasten(self) -> None:
        self._slow.unlink(missing_ok=True)

    @property
    def slow_url(self) -> str:
        """An address that always answers with a byte a second."""
        return f"{self.url}{SLOW}"


def names_of(count: int) -> tuple[str, ...]:
    return tuple(f"soak-{number:02}" for number in range(count))


def install(work: Path, topologies: int, days: int, disk_mib: int, poison: Collection[Poison]) -> Bench:
    """Make all that a run needs and that is missing, with the clock at START. disk_mib: 0 for no disk of its own."""
    disk = work / "disk"
    limited = _mounted(work / "disk.img", disk, disk_mib)
    home = work / "home"
    fresh = not (home / "clock").exists()
    (home / "topologies").mkdir(parents=True, exist_ok=True)
    for name in ("history", "forecasts", "trained", "reports"):
        (disk / name).mkdir(exist_ok=True)
        if not (home / name).is_symlink():
            (home / name).symlink_to(disk / name)
    for name in ("mlruns", "ledger"):
        (disk / name).mkdir(exist_ok=True)
        settings = Settings(
            home=home,
            topologies=home / "topologies",
            mlruns=disk / "mlruns",
            ledger_url=f"sqlite:///{disk / 'ledger' / 'ledger.db'}",
            clock="trace",
            review=False,
        )
    clock = TraceClock(settings.clock_file)
    server = PrometheusProcess(work / "prometheus", settings.clock_file)
    names = names_of(topologies)
    if fresh:
        _write_topologies(settings, server, names, days, poison)
        clock.start_at(START)
    return Bench(work, settings, clock, server, disk, limited, names)


def unmounted(bench: Bench) -> None:
    if bench.limited:
        subprocess.run(["umount", bench.disk], check=True)


def wave_per_minute(number: int, minutes: Floats) -> Floats:
    """Arrivals a minute, at minutes since START's midnight: each topology has its own daily wave, lower at weekends."""
    rng = np.random.default_rng(number)
    mean, swing, peak_h = 60 * rng.uniform(3, 8), rng.uniform(0.4, 0.7), rng.uniform(8, 20)
    day = 1 + swing * np.cos(2 * np.pi * (minutes / 60 - peak_h) / 24)
    weekend = np.where((minutes // 1440) % 7 >= 5, 0.7, 1.0)
    return np.asarray(mean * day * weekend)


def _write_topologies(
    settings: Settings, server: PrometheusProcess, names: Iterable[str], days: int, poison: Collection[Poison]
) -> None:
    series = []
    begin = START - timedelta(days=BEFORE)
    count = (BEFORE + days + 1) * 1440
    for number, name in enumerate(names):
        expected = wave_per_minute(number, np.arange(count) - BEFORE * 1440.0)
        counts = np.random.default_rng(1000 + number).poisson(expected).astype(np.int64)
        service_s = round(60 * 3 / float(expected.mean()) * 0.8, 3)
        text = TOPOLOGY.format(name=name, url=server.url, service_s=service_s)
        (settings.topologies / f"{name}.yaml").write_text(text)
        truth = Arrivals(
            begin, begin + timedelta(minutes=count), 60, Measures.OFFERED,
            {"receive": SourceArrivals(counts, np.array([[0, 2**62]]))},
        )  # fmt: skip
        write_history(truth, settings.home / "truth", name, begin, truth.end)
        totals = np.concatenate([[0], np.cumsum(_poisoned(counts, name, poison))])
        at_s = begin.timestamp() + 60.0 * np.arange(totals.size)
        series.append(("arrivals", f'topology="{name}"', list(zip(at_s.tolist(), totals.tolist(), strict=True))))
    backfill(server.folder, openmetrics(series))
    (server.folder / "history.txt").unlink()


def _poisoned(counts: Ints, name: str, poison: Collection[Poison]) -> Ints:
    """Counts as a broken exporter reports them: by turns a burst of a million a minute, and an hour of silence."""
    told = counts.copy()
    for number, one in enumerate(each for each in poison if each.topology == name):
        first = (BEFORE * 24 + one.hour) * 60
        if number % 2 == 0:
            told[first + 20 : first + 25] = 1_000_000
        else:
            told[first : first + 60] = 0
    return told


def _mounted(image: Path, disk: Path, size_mib: int) -> bool:
    """Whether the folder is now a file system of its own, which needs root, mkfs.ext4 and a loop device."""
    disk.mkdir(parents=True, exist_ok=True)
    if size_mib == 0 or os.geteuid() != 0 or shutil.which("mkfs.ext4") is None:
        return False
    if os.path.ismount(disk):
        return True
    if not image.exists():
        with image.open("wb") as made:
            made.truncate(size_mib << 20)
        subprocess.run(["mkfs.ext4", "-q", "-m", "0", image], check=True)
    return subprocess.run(["mount", "-o", "loop", image, disk], check=False).returncode == 0
