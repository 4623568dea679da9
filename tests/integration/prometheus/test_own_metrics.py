"""A real Prometheus scrapes what `forescale metrics` prints, and promtool takes the alert rules."""

import json
import re
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest
from monitored_pair import begin_monitored
from patience import until
from prometheus_server import prometheus_server, require_prometheus

from forescale.cli.main import main
from forescale.monitoring.metrics import METRICS
from forescale.settings import Settings

pytestmark = pytest.mark.prometheus

EXAMPLES = Path(__file__).parents[3] / "examples" / "monitoring"
NEVER_TOLD = {
    "forescale_calibration_timestamp_seconds",  # nothing was ever measured
    "forescale_schedule_price",  # nobody says what an instance costs
    "forescale_forecast_loss_to_naive_ratio",  # of the day before there is no history
}


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    require_prometheus()
    folder = tmp_path_factory.mktemp("monitored")
    begin_monitored(Settings(home=folder / "home", topologies=folder / "files", clock="trace"))
    with pytest.MonkeyPatch.context() as environment, (folder / "out").open("w+") as out:
        for name, value in (("HOME", folder / "home"), ("TOPOLOGIES", folder / "files"), ("CLOCK", "trace")):
            environment.setenv(f"FORESCALE_{name}", str(value))
        environment.setattr("sys.stdout", out)
        with pytest.raises(SystemExit) as ended:
            main(["metrics"])
        assert not ended.value.code
        out.seek(0)
        return out.read()


@pytest.fixture(scope="module")
def scraped(text: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URL of a Prometheus that has scraped the text."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/openmetrics-text; version=1.0.0; charset=utf-8")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with prometheus_server(tmp_path_factory.mktemp("own"), (f"127.0.0.1:{server.server_port}",)) as url:
        until(lambda: query(url, "forescale_up"))
        yield url
    server.shutdown()
    server.server_close()


def query(url: str, expression: str) -> list[dict[str, object]]:
    answer = httpx.get(f"{url}/api/v1/query", params={"query": expression}, timeout=60, trust_env=False)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, object]] = answer.json()["data"]["result"]
    return found


def test_prometheus__has_every_metric_that_is_known(scraped: str) -> None:
    names = httpx.get(f"{scraped}/api/v1/label/__name__/values", timeout=60, trust_env=False).json()["data"]
    assert {metric.name for metric in METRICS} - set(names) == NEVER_TOLD
    (step,) = query(scraped, 'forescale_steps{state="proposed"}')
    assert step["value"][1] == "1"  # type: ignore[index]


def test_dashboard__asks_what_prometheus_can_answer(scraped: str) -> None:
    board = json.loads((EXAMPLES / "grafana-dashboard.json").read_text(encoding="utf-8"))
    asked = [target["expr"].replace("$topology", ".*") for panel in board["panels"] for target in panel["targets"]]
    empty = [expression for expression in asked if not query(scraped, expression)]
    # What is 1 only when something is wrong, what was never told, and what takes two scrapes at least.
    quiet = {"forescale_forecast_drifted", "forescale_forecast_failed", "forescale_guard_actions_total"} | NEVER_TOLD
    assert [each for each in empty if not quiet & set(re.findall(r"forescale_[a-z_]+", each))] == []


def test_alerts__that_hold_fire_on_what_was_scraped(scraped: str) -> None:
    rules = promtool_rules()
    firing = {name for name, expression in rules.items() if query(scraped, expression)}
    # A trace of March is read now; 564 s are overdrawn; a profile is planned by; the step of 03:00 is an hour away.
    assert {"ForescaleMetricsStale", "ForescaleBudgetOverdrawn", "ForescaleLowerRung", "ForescaleGuardBarred"} <= firing
    assert not firing & {"ForescaleTopologyUnread", "ForescaleForecastFailed", "ForescaleStepUndone"}


def promtool_rules() -> dict[str, str]:
    import yaml

    body = yaml.safe_load((EXAMPLES / "alerts.yaml").read_text(encoding="utf-8"))
    return {rule["alert"]: rule["expr"] for group in body["groups"] for rule in group["rules"]}


def promtool(*arguments: str | Path) -> str:
    require_prometheus()
    done = subprocess.run(["promtool", *arguments], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_alerts__are_rules_that_promtool_takes() -> None:
    assert "SUCCESS" in promtool("check", "rules", EXAMPLES / "alerts.yaml")


def test_alerts__sound_when_they_should_and_not_before() -> None:
    assert "SUCCESS" in promtool("test", "rules", EXAMPLES / "alerts.test.yaml")
