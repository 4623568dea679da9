"""New users, of Flink and of services: `init` in a terminal, all after that in a browser. And `forescale up` itself.

All share one home by `config init` and one `forescale up`, which is killed and started again before anybody walks.
"""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from headless_chromium import headless_chromium
from kubernetes_controllers import Controllers
from kubernetes_objects import deployment, namespace, stateful_set
from kubernetes_server import local_kubernetes, require_kubernetes
from launched_up import FORESCALE, LaunchedUp, forescale, launched, up_command, without_settings
from playwright.sync_api import FrameLocator, Page, expect
from prometheus_server import backfill, openmetrics, prometheus_server, require_prometheus
from signed_in import signed_in_at

from engines.kubernetes.resources import DEPLOYMENT, STATEFUL_SET
from forescale.local.demo.word_count import SPLIT, WordCount
from forescale.local.errors import LocalFlinkError
from forescale.local.flink.distribution import flink_distribution
from forescale.local.flink.java import find_java
from forescale.local.flink.local_cluster import LocalFlink, local_flink
from forescale.report.overview.standing_cells import UNKNOWN
from planner.clusters.flink import FlinkCluster

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.browser,
    pytest.mark.mlflow,
    pytest.mark.slow,
    pytest.mark.spark,
    pytest.mark.timeout(3000),
]

JOB = WordCount(split_ms=250, count_ms=50, words_per_sentence=1)
MINUTES, SCRAPE_S = 4 * 1440, 15
STAGES_S = 600
"""Within which each of counting, forecasting, planning and deploying ends on a busy machine."""


@dataclass(frozen=True)
class Served:
    """A home and its `up`, the second: the first, at the addresses first_urls, was killed."""

    home: Path
    environment: dict[str, str]
    first_urls: tuple[str, ...]
    up: LaunchedUp

    @property
    def airflow(self) -> str:
        return self.up.urls[0]

    def topology_file(self, topology: str) -> Path:
        return self.home / "topologies" / f"{topology}.yaml"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    pytest.importorskip("airflow")
    folder = tmp_path_factory.mktemp("served")
    home = folder / "home"
    environment = {
        **without_settings(),
        "FORESCALE_HOME": str(home),
        # Each decision is somebody's: no run of each hour comes between.
        "FORESCALE_SCHEDULE": "none",
        # Written as soon as there is a cluster.
        "KUBECONFIG": str(folder / "kubeconfig"),
    }
    forescale(environment, "config", "init", str(home))
    command = up_command(home)
    with launched(command, environment) as first:
        first.kill()
    with launched(command, environment) as second:
        yield Served(home, environment, first.urls, second)
        assert second.end() == 0


@pytest.fixture
def flink(tmp_path: Path) -> Iterator[LocalFlink]:
    try:
        find_java()
        distribution = flink_distribution()
    except LocalFlinkError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))
    with local_flink(tmp_path / "flink", slots=16, distribution=distribution, within_s=240) as running:
        yield running


def write_events(folder: Path) -> None:
    """Four days of 2 to 8 sentences a second, the most of them two hours from now: one instance of `split` takes 4."""
    ends_s = time.time() - 60 * np.arange(MINUTES)[::-1]
    hours_to_peak = (ends_s - ends_s[-1]) / 3600 - 2
    per_s = 5 + 3 * np.cos(hours_to_peak / 24 * 2 * np.pi)
    rng = np.random.default_rng(1)
    counts = rng.poisson(60 * per_s)
    at_s = np.repeat(ends_s - 60, counts) + rng.uniform(0, 60, counts.sum())
    stamps = pa.array((at_s * 1e6).astype("int64"), pa.timestamp("us", tz="UTC"))
    folder.mkdir()
    pa.parquet.write_table(pa.table({"at": stamps, "id": np.arange(at_s.size)}), folder / "sentences.parquet")


def test_up__serves_a_home_again_at_the_same_addresses_after_a_kill(served: Served) -> None:
    *pages, plans = served.up.urls
    assert pages == list(served.first_urls[:-1])
    for url in (*pages, f"{plans}/plan", f"{plans}/readyz"):
        assert httpx.get(url, trust_env=False, follow_redirects=True, timeout=120).status_code == 200
    assert httpx.get(f"{served.airflow}/scaling/", trust_env=False, timeout=120).status_code == 401


def test_up__refuses_a_folder_that_is_no_home(tmp_path: Path) -> None:
    words = [*FORESCALE, "up", "--home", str(tmp_path)]
    done = subprocess.run(words, env=without_settings(), capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"{tmp_path} holds no forescale.env" in done.stderr


@pytest.mark.flink
def test_a_new_user_of_flink__reaches_an_approved_deployment_in_the_browser(served: Served, flink: LocalFlink) -> None:
    job, path = JOB.start(flink, 3.5), served.topology_file(JOB.name)
    try:
        forescale(served.environment, "init", "--flink", flink.url, "--job", JOB.name)
        write_events(served.home / "events")
        declare_no_waits(path)
        with path.open("a") as file:
            file.write("\narrivals:\n  path: events\n  columns: { time: at, id: id }\n  source: sentences\n")
        walk(served, JOB.name, "sentences", "split 1 →")
        # The first step carries 8 sentences a second, of which one instance takes 4.
        assert FlinkCluster(flink.url, JOB.name, JOB.topology, timeout_s=60).state().plan.parallelism[SPLIT] >= 2
    finally:
        path.unlink(missing_ok=True)  # who walks next sees one topology
        job.cancel()


@pytest.mark.kubernetes
@pytest.mark.prometheus
def test_a_new_user_of_services__reaches_an_approved_deployment_in_the_browser(served: Served, tmp_path: Path) -> None:
    """`orders` takes 2 requests a second; each keeps a replica of `prices` busy for 1.2 s: one replica falls behind."""
    require_kubernetes()
    require_prometheus()
    (tmp_path / "kubernetes").mkdir()
    (tmp_path / "scraped").mkdir()
    scrapes = 4 * 86400 // SCRAPE_S
    counts = np.random.default_rng(1).poisson(2 * SCRAPE_S, scrapes).cumsum()
    at_s = time.time() - SCRAPE_S * np.arange(scrapes)[::-1]
    labels = 'namespace="shop",pod="orders-5d8f9c7b6-x2x4k"'
    backfill(
        tmp_path / "scraped",
        openmetrics([("http_requests", labels, zip(at_s.tolist(), counts.tolist(), strict=True))]),
    )
    services = [deployment("orders"), stateful_set("prices")]
    for body in services:
        body["metadata"]["labels"] = {"app": "shop"}
    with local_kubernetes(tmp_path / "kubernetes") as kubernetes, prometheus_server(tmp_path / "scraped") as prometheus:
        kubernetes.create(namespace("shop"))
        kubernetes.create(*services, namespace="shop")
        shutil.copy(kubernetes.kubeconfig("admin"), served.environment["KUBECONFIG"])
        with Controllers(kubernetes, "shop", (DEPLOYMENT, STATEFUL_SET), every_s=0.5).running():
            words = ("init", "shop", "--kubernetes", "shop", "--selector", "app=shop", "--prometheus")
            forescale(served.environment, *words, prometheus)
            path = served.topology_file("shop")
            text = path.read_text().replace("  kind: prometheus\n", "  kind: prometheus\n  measures: offered\n", 1)
            text = text.replace("streams: []\n", "streams: [{from: orders, to: prices}]\n", 1)
            for name, busy_s in (("orders", 0.1), ("prices", 1.2)):
                text = re.sub(rf"^(  {name}: {{service_s: )[0-9.]+", rf"\g<1>{busy_s}", text, flags=re.MULTILINE)
            path.write_text(text)
            declare_no_waits(path)
            try:
                walk(served, "shop", "orders", "prices 1 →")
            finally:
                path.unlink()  # who walks next sees one topology
        ready = kubernetes.server("shop").get(STATEFUL_SET, "prices").body["status"]["readyReplicas"]
        assert ready >= 3  # 2.4 are busy


def declare_no_waits(topology_file: Path) -> None:
    """Instances are there at once, and a job that has just begun may be changed: by the defaults of a topology file the
    first step is due ten minutes after the start of the job.
    """
    text = re.sub(r"^  lead_s: .*\n", "", topology_file.read_text(), flags=re.MULTILINE)
    text, sections = re.subn(r"^planning:\n", "planning:\n  lead_s: 5\n  min_dwell_s: 0\n", text, flags=re.MULTILINE)
    assert sections == 1
    topology_file.write_text(text)


def walk(served: Served, topology: str, source: str, change: str) -> None:
    """From an empty page to a first step that is verified. change: of that step, as its row begins to tell."""
    airflow = served.airflow
    with headless_chromium() as browser:
        page = signed_in_at(browser, airflow, served.home / "airflow", "reviewer", "/plugin/scaling")
        trigger_a_decision(page, topology)
        look_at_the_history(page, airflow, topology, source)
        approve(page, airflow, topology)
        page.goto(f"{airflow}/plugin/scaling/scaling/topologies/{topology}")
        steps = frame_of(page).get_by_role("row").filter(has_text=change)
        expect(steps.filter(has_text="verified").first).to_be_visible(timeout=STAGES_S * 1000)
        assert page.complaints == []  # type: ignore[attr-defined]


def frame_of(page: Page) -> FrameLocator:
    return page.frame_locator("iframe")


def trigger_a_decision(page: Page, topology: str) -> None:
    """A topology of another walk, whose file is gone, is still known by its forecasts."""
    frame = frame_of(page)
    expect(frame.locator("h1")).to_contain_text(": none with a step to review, ")
    row = frame.locator("tr").filter(has_text=topology)
    expect(row.locator("td[data-label='Alarms']")).to_have_text(UNKNOWN)
    frame.get_by_role("link", name="Decide now").click()
    page.get_by_test_id("trigger-dag-button").click()
    page.get_by_role("dialog").get_by_role("button", name="Trigger", exact=True).click()
    page.get_by_role("dialog").wait_for(state="hidden")


def look_at_the_history(page: Page, airflow: str, topology: str, source: str) -> None:
    """The page loads itself anew until there is something to review."""
    page.goto(f"{airflow}/plugin/scaling")
    frame = frame_of(page)
    frame.get_by_text("Under way: ").first.wait_for()
    frame.get_by_role("link", name="Answer 1 review").wait_for(timeout=3 * STAGES_S * 1000)
    frame.get_by_role("link", name=topology, exact=True).click()
    frame.get_by_text("Asked of you").wait_for()
    frame.get_by_role("link", name="Arrival history").click()
    frame.locator(".plot .main-svg").first.wait_for()
    assert frame.get_by_role("cell", name=source).is_visible()


def approve(page: Page, airflow: str, topology: str) -> None:
    """The form says what the page of the topology says, and is answered with one click."""
    page.goto(f"{airflow}/plugin/scaling/scaling/topologies/{topology}")
    frame = frame_of(page)
    asked = frame.locator(".told dd", has_text="Approve, veto or edit").inner_text()
    frame.get_by_role("link", name="Answer in Airflow").click()
    button = page.get_by_role("button", name="Approve", exact=True)
    expect(button).to_be_enabled()
    assert asked.split(" by ")[0].split(" now")[0] in page.locator("body").inner_text()
    button.click()
    expect(button).to_be_disabled()
