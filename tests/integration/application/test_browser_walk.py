"""New users, of Flink and of services: `config init` and `init` in a terminal, all after that in a browser."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from headless_chromium import headless_chromium
from kubernetes_controllers import Controllers
from kubernetes_objects import deployment, namespace, stateful_set
from kubernetes_server import local_kubernetes, require_kubernetes
from playwright.sync_api import FrameLocator, Page, expect
from prometheus_server import backfill, openmetrics, prometheus_server, require_prometheus
from signed_in import signed_in_at

from engines.kubernetes.resources import DEPLOYMENT, STATEFUL_SET
from forescale.local.demo.word_count import SPLIT, WordCount
from forescale.local.errors import LocalFlinkError
from forescale.local.flink.distribution import flink_distribution
from forescale.local.flink.java import find_java
from forescale.local.flink.local_cluster import LocalFlink, local_flink
from forescale.local.ports import free_port
from planner.clusters.flink import FlinkCluster

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.browser,
    pytest.mark.mlflow,
    pytest.mark.slow,
    pytest.mark.spark,
    pytest.mark.timeout(1500),
]

FORESCALE = (sys.executable, "-c", "from forescale.cli import main; main()")
JOB = WordCount(split_ms=250, count_ms=50, words_per_sentence=1)
MINUTES, SCRAPE_S = 4 * 1440, 15
STAGES_S = 600
"""Within which each of counting, forecasting, planning and deploying ends on a busy machine."""


@pytest.fixture
def flink(tmp_path: Path) -> Iterator[LocalFlink]:
    try:
        find_java()
        distribution = flink_distribution()
    except LocalFlinkError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))
    with local_flink(tmp_path / "flink", slots=16, distribution=distribution) as running:
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


@contextmanager
def served(home: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """`forescale up`; gives the address of Airflow once it answers."""
    port = free_port(18080)
    ports = ("--port", str(port), "--mlflow-port", str(free_port(15000)))
    command = (*FORESCALE, "up", "--home", str(home), *ports)
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as launcher:
        try:
            assert launcher.stdout is not None
            said = []
            for line in launcher.stdout:
                said.append(line)
                if line.startswith("Ctrl-C"):
                    break
            assert launcher.poll() is None, "".join(said)
            yield f"http://127.0.0.1:{port}"
        finally:
            launcher.terminate()
            launcher.communicate(timeout=60)


@pytest.mark.flink
def test_a_new_user_of_flink__reaches_an_approved_deployment_in_the_browser(flink: LocalFlink, tmp_path: Path) -> None:
    home, environment = new_home(tmp_path)
    job = JOB.start(flink, 3.5)
    try:
        forescale(environment, "init", "--flink", flink.url, "--job", JOB.name)
        write_events(home / "events")
        with (home / "topologies" / f"{JOB.name}.yaml").open("a") as file:
            file.write("\narrivals:\n  path: events\n  columns: { time: at, id: id }\n  source: sentences\n")
        walk(home, environment, JOB.name, "sentences", "split 1 →")
        # The first step carries 8 sentences a second, of which one instance takes 4.
        assert FlinkCluster(flink.url, JOB.name, JOB.topology).state().plan.parallelism[SPLIT] >= 2
    finally:
        job.cancel()


@pytest.mark.kubernetes
@pytest.mark.prometheus
def test_a_new_user_of_services__reaches_an_approved_deployment_in_the_browser(tmp_path: Path) -> None:
    """`orders` takes 2 requests a second; each keeps a replica of `prices` busy for 1.2 s: one replica falls behind."""
    require_kubernetes()
    require_prometheus()
    home, environment = new_home(tmp_path)
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
        environment["KUBECONFIG"] = str(kubernetes.kubeconfig("admin"))
        with Controllers(kubernetes, "shop", (DEPLOYMENT, STATEFUL_SET)).running():
            words = ("init", "--kubernetes", "shop", "--selector", "app=shop", "--name", "shop", "--prometheus")
            # Milliseconds a request keeps a replica busy; what orders reads; what prices reads, and how.
            forescale(environment, *words, prometheus, "--interactive", answers="100\n1200\n\norders\nshuffle\n")
            path = home / "topologies" / "shop.yaml"
            text = path.read_text().replace("  kind: prometheus\n", "  kind: prometheus\n  measures: offered\n", 1)
            path.write_text(text)
            walk(home, environment, "shop", "orders", "prices 1 →")
        ready = kubernetes.server("shop").get(STATEFUL_SET, "prices").body["status"]["readyReplicas"]
        assert ready >= 3  # 2.4 are busy


def new_home(folder: Path) -> tuple[Path, dict[str, str]]:
    """A home by `config init`, and the environment in which it is used."""
    pytest.importorskip("airflow")
    home = folder / "home"
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("FORESCALE_")}
    environment = {**inherited, "FORESCALE_HOME": str(home)}
    forescale(environment, "config", "init", str(home))
    return home, environment


def forescale(environment: Mapping[str, str], *words: str, answers: str = "") -> None:
    subprocess.run([*FORESCALE, *words], env=environment, input=answers, text=True, check=True, timeout=300)


def walk(home: Path, environment: Mapping[str, str], topology: str, source: str, change: str) -> None:
    """From an empty page to a first step that is verified. change: of that step, as its row begins to tell."""
    with headless_chromium() as browser, served(home, environment) as airflow:
        page = signed_in_at(browser, airflow, home / "airflow", "reviewer", "/plugin/scaling")
        page.set_default_timeout(60_000)
        trigger_a_decision(page)
        look_at_the_history(page, airflow, topology, source)
        approve(page, airflow, topology)
        page.goto(f"{airflow}/plugin/scaling/scaling/topologies/{topology}")
        first = frame_of(page).get_by_role("row").filter(has_text=change).first
        expect(first).to_contain_text("verified", timeout=STAGES_S * 1000)
        assert page.complaints == []  # type: ignore[attr-defined]


def frame_of(page: Page) -> FrameLocator:
    return page.frame_locator("iframe")


def trigger_a_decision(page: Page) -> None:
    frame = frame_of(page)
    frame.get_by_text("1 topology: none with a step to review, none with an alarm").wait_for()
    frame.get_by_role("link", name="Decide now").click()
    page.get_by_test_id("trigger-dag-button").click()
    page.get_by_role("dialog").get_by_role("button", name="Trigger", exact=True).click()
    page.get_by_role("dialog").wait_for(state="hidden")


def look_at_the_history(page: Page, airflow: str, topology: str, source: str) -> None:
    """The page loads itself anew until there is something to review."""
    page.goto(f"{airflow}/plugin/scaling")
    frame = frame_of(page)
    frame.get_by_text("Under way: ").wait_for()
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
