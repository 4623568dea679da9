"""Inputs as they come in the wild, seeded, for every reader of files, settings, options and servers, in one process.

Each is tried by `trial`: what is taken must make sense, what is refused must be an expected error, without a secret, in
time. `bad_inputs.py` tries whole commands; this tries many more values, within the time of a few commands.
"""

import json
import math
import random
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from canaries import canaries_in, canary
from machine import in_line_s
from odd_server import ODD_HTTP, Answer, json_of, login_page, odd_server
from pydantic import ValidationError

from engines.address import is_http_address
from forecasting.trace_file import read_trace
from forescale.cli.expected import EXPECTED
from forescale.files.fleet import read_fleet_file
from forescale.files.plan import read_plan_file
from forescale.files.profile import read_profile_file
from forescale.files.samples import read_sample_file
from forescale.files.site import read_site_file
from forescale.files.topology import read_topology_file
from forescale.settings import Settings

LONGEST_S = 30.0
PASSWORD = canary("address")

TOPOLOGY = """
topology: pair
operators:
  read: {service_s: 0.0001, service_cv2: 1.5, price_per_hour: 0.2}
  count: {service_s: 0.1, state_gib: 2.0, max_parallelism: 128}
streams: [{from: read, to: count, grouping: fields, selectivity: 1.5}]
arrivals:
  kind: prometheus
  url: "http://127.0.0.1:9"
  queries: {read: reads_total}
  window_s: 60
  timeout_s: 5
sources: {read: {timezone: Europe/Berlin, partitions: 12}}
forecast: {step_s: 300, horizon_s: 86400, every_s: 3600}
planning:
  mode: act
  quantile: 0.95
  downtime_s: 30
  lead_s: 0
  max_lag_s: 120
  max_instances: 40
  max_parallelism: {count: 30}
  rescale_cost_instance_hours: 1.0
  scale_out_only: false
  review_s: 1800
  freeze: [{days: [sat], from: "08:00", until: "20:00"}]
  guard: {mode: advise}
cluster: {kind: flink, url: "http://127.0.0.1:9", job: pair, timeout_s: 5}
"""
PROFILE = {
    "schema_version": 2,
    "topology": "pair",
    "measured_at": "2026-03-02T06:00:00+00:00",
    "operators": {
        "count": {"service_s": 0.1, "service_cv2": 1.2, "samples": 30, "intervals": {"service_s": [0.09, 0.11]}}
    },
}
PLAN = {
    "topology": "pair",
    "parallelism": {"read": 1, "count": 8},
    "containers": [{"id": 1, "instances": [["read", 0], *(["count", at] for at in range(8))]}],
}
SITE = "containers: {cores: 4, memory_mib: 4096}\nnodes: {a: {cores: 16, speed: 1.0}}\n"
FLEET = "quotas: {q: {topologies: [pair], instances: 20}}\n"
SAMPLES = "operator,index,span_s,busy_s,backpressured_s,records_in\nread,0,60,1,0,600\ncount,0,60,30,0,300\n"
TRACE = "timestamp,count\n2026-01-01T00:00:00Z,20\n2026-01-01T01:00:00Z,21\n2026-01-01T02:00:00Z,22\n"

ODD: tuple[Any, ...] = (
    True, None, "", "1_0", "１", "true", "no", -1, 0, 1e308, 10**30, math.nan, math.inf, "nan", [], {}, [1], {"a": 1},
    "nope", "javascript:alert(1)", "http://h:99999", "http:/h", "http://[", f"anna:{PASSWORD}@h",
    f"http:/anna:{PASSWORD}@h", f"http://anna:{PASSWORD}/x@h", "file:///etc/passwd", "Mars/Olympus", "99 * * * *",
    "lots", "2026-02-30", "9999-12-31T23:59:59", "a\0b", "\ud7ff", "x" * 10_000, "../../etc", "<script>", "'; DROP",
)  # fmt: skip
"""Values in the place of good ones."""

RAW = (
    "0x" + "f" * 5000, "0b" + "1" * 20_000, "1" + ":59" * 3000, "9" * 5000, "1_000", "１", "!!bool foo", "!!int ''",
    "!!int abc", "!!float x", "!!timestamp foo", "2026-02-30", "!!binary '*'", "!!python/object:os.system x", "*none",
    "&a [*a]", "!!set {a}", "!!omap [a]", "<<: 1", "'unended", "[1, 2", "\x01", "? [a]: b", "%TAG", ".inf", "-.inf",
    ".nan", "1e999", "0o9", "{a: 1, a: 2}", "!local x", "|\n  a", "---\n...", "\t",
)  # fmt: skip
"""Texts in the place of a YAML value."""

JSON_SHAPES = (
    "{}", "[]", "null", "true", "0", '"text"', "[null]", '{"a": 1}', '{"items": {}}', '{"items": "x"}',
    '{"items": [null]}', '{"items": [{}]}', '{"metadata": "x", "spec": 1}', '{"metadata": {"resourceVersion": {}}}',
    '{"spec": {"replicas": "lots"}, "status": []}', '{"jobs": "x"}', '{"jobs": [{"id": {}, "status": 1}]}',
    '{"status": "success", "data": "x"}', '{"status": "success", "data": {"result": [{"metric": 1}]}}',
    '{"topologies": [{"name": 1}]}', '{"result": {"spouts": 1}}', "[" * 5000, '{"a":' * 5000, "1" * 5000, "NaN", "",
    '{"metadata": {"name": "r"}, "spec": {"replicas": "lots"}}', '{"metadata": {"name": "r", "generation": true}}',
    '{"metadata": {"name": "r", "labels": 3}, "spec": {}}', '{"metadata": {"name": "r"}, "status": [], "spec": null}',
    '{"metadata": {"name": "r", "managedFields": [1]}}', '{"metadata": {"name": "r"}, "spec": {"replicas": 1}}',
    '{"metadata": {"name": "r"}, "spec": {"job": {"parallelism": []}, "flinkConfiguration": 7}, "status": {}}',
    "{", "\ufeff{}", '{"kind": "Status", "code": "x"}',
)  # fmt: skip
"""Answers of servers."""


@dataclass(frozen=True)
class Wild:
    """One input. take: uses it as the product does, and gives what it took; sense: whether what was taken makes any."""

    kind: str
    value: object
    take: Callable[[Path], Any]
    sense: Callable[[Any], bool] = lambda taken: True

    def __str__(self) -> str:
        return f"{self.kind}: {self.value!r:.80}"


@dataclass(frozen=True)
class Verdict:
    """wrong: what is wrong with how an input was met; empty if nothing."""

    refused: bool
    wrong: str = ""


def trial(wild: Wild, folder: Path) -> Verdict:
    began_s, in_line = time.monotonic(), in_line_s()
    said, refused, wrong = "", False, ""
    try:
        taken = wild.take(folder)
        if not wild.sense(taken):
            wrong = f"was taken: {taken!r:.200}"
    except (*EXPECTED, ValidationError) as error:
        said, refused = str(error), True
    except OSError as error:
        said, refused = str(error), True
        if error.filename is None:
            wrong = f"names no place: {error}"
    except Exception as error:  # noqa: BLE001 - it is told
        wrong = f"internal error {type(error).__name__}: {error!s:.300}"
    if (took_s := time.monotonic() - began_s - (in_line_s() - in_line)) > LONGEST_S:
        wrong = f"took {took_s:.0f} s"
    if canaries_in(said):
        wrong = f"shows a secret: {said[:300]}"
    return Verdict(refused, wrong)


def wild_inputs(seed: int, most: int) -> list[Wild]:
    """All kinds, each thinned out alike to at most `most` inputs; the same for the same seed."""
    every = list(_every())
    return every if len(every) <= most else random.Random(seed).sample(every, most)


def _every() -> Iterator[Wild]:
    good = yaml.safe_load(TOPOLOGY)
    yield from fields("topology.yaml", good, yaml.safe_dump, read_topology_file)
    yield from _raw_values()
    topology = _topology()
    yield from fields("profile.json", PROFILE, json.dumps, lambda path: read_profile_file(path, topology))
    yield from fields("plan.json", PLAN, json.dumps, lambda path: read_plan_file(path, topology))
    yield from fields("site.yaml", yaml.safe_load(SITE), yaml.safe_dump, lambda path: read_site_file(path, topology))
    yield from fields("fleet.yaml", yaml.safe_load(FLEET), yaml.safe_dump, lambda path: read_fleet_file(path, [NAME]))
    yield from _cells("samples.csv", SAMPLES, lambda path: read_sample_file(path, topology))
    yield from _cells("trace.csv", TRACE, read_trace)
    yield from _settings()


NAME = "pair"


def _topology() -> Any:
    from forescale.files.topology import topology_of_text

    return topology_of_text(TOPOLOGY, Path("topology.yaml")).as_topology()


def fields(
    file: str, good: Any, write: Callable[[Any], str], read: Callable[[Path], Any], below: tuple[str | int, ...] = ()
) -> Iterator[Wild]:
    """An odd value in the place of each good one. below: the place that all of them are in."""
    for at in (at for at in leaves(good) if at[: len(below)] == below):
        before = _value_at(good, at)
        for odd in ODD:
            damaged = replaced(good, at, odd)

            def take(folder: Path, damaged: Any = damaged) -> Any:
                path = folder / file
                path.write_text(write(damaged), encoding="utf-8")
                return read(path)

            place = f"{file} {'.'.join(map(str, at))}"
            yield Wild(place, odd, take, lambda _, odd=odd, before=before: makes_sense(before, odd))  # type: ignore[misc]


def leaves(body: Any) -> list[tuple[str | int, ...]]:
    """Every place; of each list the first entry."""
    return _deep(body, ())


def _deep(body: Any, path: tuple[str | int, ...]) -> list[tuple[str | int, ...]]:
    parts = (
        list(body.items()) if isinstance(body, dict) else list(enumerate(body[:1])) if isinstance(body, list) else []
    )
    return ([path] if path else []) + [each for key, part in parts for each in _deep(part, (*path, key))]


def _value_at(body: Any, at: tuple[str | int, ...]) -> Any:
    for key in at:
        body = body[key]
    return body


def replaced(body: Any, at: tuple[str | int, ...], odd: Any) -> Any:
    if not at:
        return odd
    key, *rest = at
    part = replaced(body[key], tuple(rest), odd)
    if isinstance(body, list):
        return [part if number == key else each for number, each in enumerate(body)]
    return {name: part if name == key else each for name, each in body.items()}


def makes_sense(before: Any, odd: Any) -> bool:
    """Whether a reader may take this value where it found that one."""
    if odd is None or odd == {} or odd == []:
        return True  # left out
    if isinstance(before, bool):
        return isinstance(odd, bool) or str(odd) in ("true", "no", "0", "1", "1.0", "nope")
    if isinstance(before, int | float):
        if isinstance(odd, str):
            return bool(re.fullmatch(r"[0-9.]+", odd))
        return isinstance(odd, int | float) and not isinstance(odd, bool) and math.isfinite(odd) and odd < 1e19
    if isinstance(before, str) and before.startswith("http"):
        return isinstance(odd, str) and is_http_address(odd)
    if isinstance(before, str):
        return isinstance(odd, str | int | float) and "\0" not in str(odd)
    return type(odd) is type(before)


def _raw_values() -> Iterator[Wild]:
    lines = TOPOLOGY.strip().splitlines()
    spots = [(number, found) for number, line in enumerate(lines) for found in re.finditer(r"(?<=: )[^{}\[\],]+", line)]
    for number, found in spots[::3]:
        for text in RAW:
            line = lines[number][: found.start()] + text + lines[number][found.end() :]
            whole = "\n".join([*lines[:number], line, *lines[number + 1 :]])

            def take(folder: Path, whole: str = whole) -> Any:
                (folder / "topology.yaml").write_text(whole, encoding="utf-8")
                return read_topology_file(folder / "topology.yaml")

            yield Wild(f"YAML in the place of {found[0]}", text, take)


CELLS = (
    "",
    "nan",
    "inf",
    "-1",
    "1_0",
    "１",
    "true",
    "1e400",
    "1e308",
    "9" * 400,
    "x",
    "a\0b",
    '"',
    "0x10",
    "½",
    "=1+1",
)
TIMES = ("1900-01-01T00:00:00Z", "2250-01-01T00:00:00Z", "0000-01-01", "2026-02-30T00:00:00Z", "26:00", "9" * 30)


def _cells(file: str, good: str, read: Callable[[Path], Any]) -> Iterator[Wild]:
    rows = [line.split(",") for line in good.splitlines()]
    for number in range(len(rows)):
        for column, before in enumerate(rows[number]):
            for odd in (*CELLS, *TIMES):
                cells = [*rows[number][:column], odd, *rows[number][column + 1 :]]
                text = "\n".join(",".join(row) for row in [*rows[:number], cells, *rows[number + 1 :]]) + "\n"

                def take(folder: Path, text: str = text) -> Any:
                    (folder / file).write_text(text, encoding="utf-8")
                    return read(folder / file)

                missing = odd == "" or (odd == "nan" and file == "trace.csv")
                plain = not re.fullmatch(r"[0-9.]+", before) or missing or re.fullmatch(r"[0-9.e]+", odd)
                yield Wild(f"{file} {rows[0][column]}", odd, take, lambda _, plain=plain: bool(plain))  # type: ignore[misc]


def _settings() -> Iterator[Wild]:
    tried = ("_url", "_uri", "_ui", "schedule", "spark_memory", "clock", "fan_out_from", "snapshot_days")
    for name in (name for name in Settings.model_fields if name.endswith(tried)):
        for odd in ODD:

            def take(folder: Path, name: str = name, odd: object = odd) -> Settings:
                return Settings.model_validate({"home": folder, name: odd})

            def sense(taken: Settings, name: str = name, odd: object = odd) -> bool:
                return not canaries_in(str(taken.shown())) and _sensible_setting(name, odd)

            yield Wild(f"setting {name}", odd, take, sense)


def _sensible_setting(name: str, odd: object) -> bool:
    of = Settings.model_fields[name].annotation
    if odd is None:
        return True
    if of in (int, float):
        return makes_sense(1, odd)
    if name in ("schedule", "spark_memory", "clock"):
        return False
    if name in ("airflow_url", "mlflow_ui", "scaling_url", "reports_url"):
        return isinstance(odd, str) and is_http_address(odd)
    return isinstance(odd, str)


# Servers


def server_inputs(asks: Mapping[str, Callable[[str, Path], Any]]) -> Iterator[Wild]:
    """asks: what asks a server at an address, by name."""
    shapes: dict[str, Answer] = {text[:60]: json_of(text) for text in JSON_SHAPES}
    answers = {**shapes, "a login page": login_page, **ODD_HTTP}
    for name, ask in asks.items():
        for shape, answer in answers.items():

            def take(folder: Path, answer: Answer = answer, ask: Callable[[str, Path], Any] = ask) -> Any:
                with odd_server(answer) as url:
                    return ask(url, folder)

            yield Wild(f"answers to {name}", shape, take)
