"""`forescale metrics` as Prometheus and its users meet it: numbers by hand, names, and one topology beside another."""

import json
import re
import shutil
import sqlite3
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from guarded_pair import MONDAY
from monitored_pair import NOW, begin_monitored
from odd_server import Answer, head_a_byte_at_a_time, login_page, odd_server
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as classic

from forescale.cli.main import main
from forescale.monitoring import exposition
from forescale.monitoring.exposition import _Gateway
from forescale.monitoring.metrics import METRICS
from forescale.settings import Settings

EXAMPLES = Path(__file__).parents[3] / "examples" / "monitoring"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("monitored")
    begin_monitored(Settings(home=folder / "home", topologies=folder / "files", clock="trace"))
    return folder


@pytest.fixture
def settings(installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    for name, value in (("HOME", tmp_path / "home"), ("TOPOLOGIES", tmp_path / "files"), ("CLOCK", "trace")):
        monkeypatch.setenv(f"FORESCALE_{name}", str(value))
    shutil.copytree(installed, tmp_path, dirs_exist_ok=True)
    return Settings()


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    try:
        main(["metrics", *arguments])
        code = 0
    except SystemExit as ended:
        code = int(ended.code or 0)
    said = capsys.readouterr()
    return code, said.out, said.err


def numbers(text: str) -> dict[tuple[str, ...], float]:
    """By name and the labels beside topology, in the order of their names."""
    return {
        (sample.name, *(value for label, value in sorted(sample.labels.items()) if label != "topology")): sample.value
        for family in openmetrics(text)
        for sample in family.samples
    }


def test_metrics__tell_what_the_records_hold(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys)
    assert (code, err) == (0, "")
    told = numbers(out)
    assert told["forescale_up",] == 1
    # Three of four peaks of 30 stayed within the p95.
    assert told["forescale_forecast_completed", "900", "read"] == 4
    assert told["forescale_forecast_coverage_ratio", "900", "read"] == 0.75
    # p90, p95, p99 of the first three: 30, 33, 39, so (0 + .05 · 3 + .01 · 9) / 3 = .08. Of the last: 25, 27.5, 32.5,
    # so (.9 · 5 + .95 · 2.5 + .01 · 2.5) / 3 = 2.3. The mean is .635, and the backtest said .1.
    assert told["forescale_forecast_loss_per_second", "900", "read"] == pytest.approx(0.635)
    assert told["forescale_forecast_loss_to_backtest_ratio", "900", "read"] == pytest.approx(6.35)
    assert told["forescale_forecast_drifted", "900", "read"] == 0  # four windows prove nothing
    assert told["forescale_history_end_timestamp_seconds", "read"] == NOW.timestamp()
    assert told["forescale_forecast_timestamp_seconds", "read"] == MONDAY.timestamp() + 45 * 60
    # 10 of 120 minutes were in violation, of which .005 are allowed: 36 s.
    assert told["forescale_violation_seconds",] == 600
    assert told["forescale_violation_known_seconds",] == 7200
    assert told["forescale_violation_allowed_seconds",] == pytest.approx(36)
    assert told["forescale_violation_overdraft_seconds",] == pytest.approx(564)
    assert told["forescale_schedule_violation_seconds",] == 180
    assert told["forescale_schedule_violation_allowed_seconds",] == pytest.approx(432)
    assert told["forescale_schedule_instance_hours",] == 50
    assert told["forescale_next_step_timestamp_seconds", "proposed"] == NOW.timestamp() + 3600
    assert [told["forescale_steps", state] for state in ("proposed", "verified", "rolled back")] == [1, 2, 0]
    assert told["forescale_rescale_predicted_downtime_seconds",] == 30
    assert told["forescale_rescale_downtime_seconds",] == 42
    assert told["forescale_rescale_catch_up_seconds",] == 75
    assert told["forescale_rescale_predicted_utilisation_ratio",] == 0.6
    assert told["forescale_operator_busy_ratio", "work"] == 0.95
    assert [told["forescale_rung", rung] for rung in ("forecast", "profile", "guard", "hold")] == [0, 1, 0, 0]
    assert told["forescale_guard_actions_total", "scale-up", "under-provisioned"] == 1
    assert told["forescale_guard_verdicts_total", "ineffective"] == 1
    assert ("forescale_guard_barred_since_timestamp_seconds", "scale-up", "under-provisioned") in told
    assert not [
        name for name, *_ in told if name in ("forescale_schedule_price", "forescale_calibration_timestamp_seconds")
    ]


def test_metrics__of_a_broken_topology_hide_no_other(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    (settings.topologies / "broken.yaml").write_text("topology: [")
    code, out, err = run(capsys)
    assert code == 1
    assert "forescale: topology broken: " in err
    up = {s.labels["topology"]: s.value for f in openmetrics(out) if f.name == "forescale_up" for s in f.samples}
    assert up == {"pair": 1, "broken": 0}
    assert numbers(out)["forescale_schedule_instance_hours",] == 50
    told = json.loads(run(capsys, "--json")[1])
    assert set(told["unread"]) == {"broken"}
    assert {"name": "forescale_up", "labels": {"topology": "broken"}, "value": 0} in told["samples"]


def test_metrics__of_a_damaged_row_hide_nothing_else(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    with closing(sqlite3.connect(settings.home / "ledger.db")) as opened, opened:
        opened.execute("UPDATE guard_looks SET body = '{}'")
    code, out, err = run(capsys)
    assert code == 1
    assert "forescale: topology pair: row of guard_looks with topology pair, " in err
    told = numbers(out)
    assert told["forescale_up",] == 0
    assert told["forescale_schedule_instance_hours",] == 50
    assert ("forescale_operator_busy_ratio", "work") not in told


def test_metrics__tell_a_topology_once_by_whatever_it_is_named(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run(capsys, "pair", str(settings.topologies / "pair.yaml"))
    assert (code, out.count("forescale_up{")) == (0, 1)


def test_metrics__tell_nothing_of_what_never_was(
    tmp_path: Path, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (settings.topologies / "pair.yaml").read_text()
    (settings.topologies / "new.yaml").write_text(text.replace("topology: pair", "topology: new"))
    code, out, _ = run(capsys, "new")
    told = numbers(out)
    assert code == 0
    assert told["forescale_up",] == 1
    assert ("forescale_schedule_instance_hours",) not in told
    assert told["forescale_forecast_failed", "read"] == 1


def test_metrics__are_written_whole_as_node_exporter_reads_them(
    tmp_path: Path, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "collected" / "forescale.prom"
    file.parent.mkdir()
    assert run(capsys, "--out", str(file))[0] == 0
    told = {sample.name for family in classic(file.read_text()) for sample in family.samples}
    assert {"forescale_up", "forescale_guard_actions_total"} <= told
    assert "# EOF" not in file.read_text()
    assert [each.name for each in file.parent.iterdir()] == ["forescale.prom"]


def test_metrics__check_where_they_are_to_be_written_before_they_read_anything(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    (settings.topologies / "broken.yaml").write_text("topology: [")
    for place in ("/dev/null/x.prom", str(settings.home / "none" / "x.prom")):
        code, out, err = run(capsys, "--out", place)
        assert (code, out) == (1, "")
        assert err.startswith(f"forescale: --out {place}")
        assert len(err.splitlines()) == 1  # nothing was read, so that the broken file was not come upon


@contextmanager
def http_server(
    status: int, received: list[tuple[str, str, bytes]], login: str = "", answer: bytes = b""
) -> Iterator[str]:
    """login: that it asks for, as its header has it. answer: in place of one of HTTP."""

    class Handler(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            received.append((self.command, self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            if answer:
                self.wfile.write(answer)
                return
            self.send_response(status if self.headers.get("Authorization", "") == login else 401)
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_metrics__are_pushed_as_a_pushgateway_takes_them(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    received: list[tuple[str, str, bytes]] = []
    with http_server(200, received) as place:
        assert run(capsys, "--push", f"http://{place}")[0] == 0
    [(method, path, body)] = received
    assert (method, path) == ("PUT", "/metrics/job/forescale")
    assert {sample.name for family in classic(body.decode()) for sample in family.samples} >= {"forescale_up"}


def test_metrics__are_pushed_with_the_login_of_the_url(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    login = "Basic " + b64encode(b"anna:ses@me/42").decode()
    with http_server(200, [], login) as place:
        assert run(capsys, "--push", f"http://anna:ses%40me%2F42@{place}")[0] == 0
        assert run(capsys, "--push", f"anna:ses%40me/42@{place}")[0] == 0
        assert run(capsys, "--push", f"http://anna:wrong@{place}")[0] == 1


@pytest.mark.parametrize(
    ("url", "without_login"),
    [
        ("http://anna:sesame@gateway", "http://gateway"),
        ("anna:sesame@gateway", "gateway"),
        ("https://gateway/below", "https://gateway/below"),
    ],
)
def test_a_login__is_no_part_of_the_address_with_or_without_a_port(url: str, without_login: str) -> None:
    assert _Gateway.of(url).url == without_login


def test_a_pushgateway__that_speaks_no_http_is_one_line(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    with http_server(200, [], answer=b"what?\r\n") as place:
        code, out, err = run(capsys, "--push", f"http://{place}")
    assert (code, out) == (1, "")
    assert err == ("forescale: the Pushgateway of --push refused the metrics: what?; check its URL, and that it runs\n")


def test_a_pushgateway__that_refuses_or_is_down_is_told_of_without_its_password(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    with http_server(500, []) as place:
        refused = run(capsys, "--push", f"http://anna:sesame42@{place}")
    down = run(capsys, "--push", f"http://anna:sesame42@{place}")
    for code, out, err in (refused, down):
        assert (code, out) == (1, "")
        assert err.startswith("forescale: the Pushgateway of --push refused the metrics: ")
        assert "sesame42" not in err


@pytest.mark.parametrize("answer", [login_page, head_a_byte_at_a_time])
def test_a_page_or_a_slow_server_in_the_place_of_a_pushgateway__takes_no_metrics(
    settings: Settings, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, answer: Answer
) -> None:
    monkeypatch.setattr(exposition, "PUSH_S", 1.0)
    with odd_server(answer) as url:
        code, out, err = run(capsys, "--push", url)
    assert (code, out) == (1, "")
    assert "a web page answered" in err or "no answer within 1 s" in err


def test_names__are_as_prometheus_wants_them() -> None:
    assert len({metric.name for metric in METRICS}) == len(METRICS)
    for metric in METRICS:
        assert re.fullmatch(r"forescale_[a-z_]+", metric.name)
        assert metric.name.endswith("_total") == (metric.kind == "counter")
        assert metric.help.endswith(".")


@pytest.mark.parametrize("file", ["alerts.yaml", "grafana-dashboard.json"])
def test_dashboard_and_alerts__name_no_metric_that_there_is_not(file: str) -> None:
    known = {"forescale_up", *(metric.name for metric in METRICS)}
    named = set(re.findall(r"forescale_[a-z_]+", (EXAMPLES / file).read_text(encoding="utf-8")))
    assert len(named) > 10
    assert named <= known


def test_documentation__tells_of_each_metric_as_its_help_text_does() -> None:
    page = (EXAMPLES.parents[1] / "docs" / "monitoring.md").read_text(encoding="utf-8")
    rows = [f"| `{one.name}` | {', '.join(f'`{label}`' for label in one.labels)} | {one.help} |" for one in METRICS]
    assert [row for row in rows if row not in page] == []
