"""Odd values deep in what servers answer, odd files in the place of secrets, and mistyped addresses with a password:
each as it reaches the product, tried as `wild_inputs` says.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import yaml
from bad_kinds import NOISE
from canaries import canaries_in
from odd_server import json_of, odd_server, of_status
from wild_inputs import ODD, PASSWORD, Wild, fields, leaves, replaced, server_inputs

from engines.kubernetes.identity import Identity
from engines.kubernetes.resources import DEPLOYMENT
from engines.kubernetes.server import KubernetesServer
from forecasting.arrivals.coverage import status_codes
from forecasting.tracking.mlflow_tracker import MlflowTracker
from forescale.files.topology import TopologyConfig, topology_of_text
from forescale.settings import SETTINGS_FILE, Settings
from forescale.wiring.arrivals import arrival_source, steady_source
from forescale.wiring.parts import clock_of, cluster_of
from planner.errors import ClusterError

FROM = datetime(2026, 3, 2, 6, tzinfo=UTC)
HOUR_S = 3600
PAIR = "topology: pair\noperators: {read: {service_s: 0.0001}, count: {service_s: 0.1}}\nstreams: []\n"
ARRIVALS = {
    "Prometheus": "{kind: prometheus, url: URL, queries: {read: reads_total}, measures: offered, timeout_s: 5}",
    "Heron's tracker": "{kind: heron, url: URL, cluster: c, environ: e, spouts: {read: lines}, timeout_s: 5}",
    "Storm's UI": "{kind: storm, url: URL, spouts: {read: lines}, timeout_s: 5}",
}


def read_arrivals(section: str) -> Callable[[str, Path], Any]:
    """What reads an hour of arrivals at an address, and sorts its windows."""

    def ask(url: str, folder: Path) -> Any:
        settings = Settings(home=folder / "home", topologies=folder)
        config = _config(f"arrivals: {section.replace('URL', json.dumps(url))}", folder)
        if steady := steady_source(config, settings):
            return steady.record(FROM)
        with arrival_source(config, settings, FROM + timedelta(hours=2)) as source:
            source.first_moment()
            read = source.read(FROM, FROM + timedelta(hours=1), 60)
        for told in read.sources.values():
            status_codes(told.alive, read.edges_us(), told.counts, told.held_back)
        return read

    return ask


def _config(section: str, folder: Path) -> TopologyConfig:
    return topology_of_text(PAIR + section, folder / "pair.yaml")


NUMBERS = ("+Inf", "-Inf", "NaN", "1e400", "-5", "0x10", "1_0", "", "9" * 400, "５", None, 3, [], {}, True)
TIMES = (-1, 0, 1e308, 10**30, "1772431200", None, True, [], 1772431200.0005, 1772431200)
LATE = int(FROM.timestamp()) + 600


def sample_inputs() -> Iterator[Wild]:
    """Samples of Prometheus with one odd among many good ones, and each part of its answer replaced."""
    good = [[LATE - 600 + 15 * number, str(150 * number)] for number in range(240)]
    for place, oddities in ((1, NUMBERS), (0, TIMES)):
        for odd in oddities:
            pairs = [[*pair] for pair in good]
            pairs[40][place] = odd
            # Nothing absurd is taken: at 10/s no minute holds more than twice as many.
            yield _answered("a sample of Prometheus", odd, _matrix(pairs), lambda read: _most(read) <= 1200)
    answer = _matrix(good[:3])
    for at in leaves(answer):
        for odd in ODD:
            yield _answered(
                f"Prometheus' {'.'.join(map(str, at))}",
                odd,
                replaced(answer, at, odd),
                lambda read: _most(read) <= 1200,
            )


def _matrix(pairs: list[Any]) -> Any:
    one = {"metric": {"__name__": "reads_total", "pod": "a"}, "values": pairs}
    return {"status": "success", "data": {"resultType": "matrix", "result": [one]}}


def _answered(kind: str, odd: object, answer: Any, sense: Callable[[Any], bool]) -> Wild:
    def take(folder: Path) -> Any:
        section = ARRIVALS["Prometheus"].replace("timeout_s", "since: 2026-03-02T06:00:00Z, timeout_s")
        with odd_server(json_of(json.dumps(answer))) as url:
            return read_arrivals(section)(url, folder)

    return Wild(kind, odd, take, sense)


def _most(read: Any) -> int:
    return max(int(told.counts.max(initial=0)) for told in read.sources.values())


# Stores of histories and of models

LISTINGS = (
    "<IsTruncated>true</IsTruncated><NextContinuationToken>x</NextContinuationToken>",
    "<IsTruncated>true</IsTruncated>",
    "<Contents><Key>../../etc</Key></Contents>",
    "<Contents>a</Contents>",
    "<Contents><Key>history/topology=calls/_manifest.json</Key><Size>lots</Size></Contents>",
    "<Contents><Key>history/topology=calls/_manifest.json</Key><LastModified>never</LastModified></Contents>",
    "<CommonPrefixes><Prefix>../..</Prefix></CommonPrefixes>",
    "<CommonPrefixes/>",
    "<Contents>" * 3000 + "</Contents>" * 3000,
)
XML = (
    *(f"<ListBucketResult><Name>bucket</Name>{within}</ListBucketResult>" for within in LISTINGS),
    "<a/>", "<?xml version='1.0'?>", "<Error/>", "<Error><Code/></Error>", "<Error><Code>NoSuchKey</Code></Error>",
    "<Error><Code>PreconditionFailed</Code></Error>", "<Error><Code>SlowDown</Code></Error>",
    "<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><ListBucketResult><Name>&x;</Name></ListBucketResult>",
    "<!DOCTYPE a [<!ENTITY b 'bbbbbbbbbb'><!ENTITY c '&b;&b;&b;&b;&b;&b;&b;'><!ENTITY d '&c;&c;&c;&c;&c;&c;'>]>"
    "<ListBucketResult><Name>&d;</Name></ListBucketResult>",
)  # fmt: skip
"""Answers in the place of an object store's."""


def s3_inputs(asks: Mapping[str, Callable[[str, Path], Any]]) -> Iterator[Wild]:
    """None of these is a history, or a place for one."""
    wilds = [*server_inputs(asks)]
    for name, ask in asks.items():
        for text, status in product(XML, (200, 404, 412, 500)):

            def take(folder: Path, text: str = text, status: int = status, ask: Any = ask) -> Any:
                with odd_server(of_status(status, text.encode(), "application/xml", ETag='"1"')) as url:
                    return ask(url, folder)

            wilds.append(Wild(f"{status} of a store to {name}", text, take))
    for wild in wilds:
        yield Wild(wild.kind, wild.value, wild.take, lambda _: False)


def tracker_inputs() -> Iterator[Wild]:
    """None of these is MLflow, so nothing is read from it, or thought to be kept there."""
    asks = {
        "MLflow, of a champion": lambda tracker: tracker.champion("calls"),
        "MLflow, of a decision": lambda tracker: tracker.link_decision("0" * 32, {"step": "1"}),
    }
    on = {name: lambda url, folder, ask=ask: ask(MlflowTracker(url)) for name, ask in asks.items()}  # type: ignore[misc]
    for wild in server_inputs(on):
        yield Wild(wild.kind, wild.value, wild.take, lambda _: False)


# Files that hold secrets


def _pipe(path: Path) -> None:
    os.mkfifo(path)


LINES = (
    "FORESCALE_REVIEW", "FORESCALE_REVIEW=", "FORESCALE_REVIEW=maybe", "=1", "FORESCALE_REVIEW true", "A=1\0",
    "FORESCALE_REVIEW='false", 'FORESCALE_REVIEW="fal\nse"', "FORESCALE_REVIEW=false\nFORESCALE_REVIEW=true", "\0" * 99,
    "FORESCALE_REVIEWS=1", "FORSCALE_REVIEW=false", "FORESCALE_REVIEW=\0", "FORESCALE_REVIEW=fa\rlse",
    "FORESCALE_FAN_OUT_FROM=1_0", "FORESCALE_FAN_OUT_FROM=１", "FORESCALE_FAN_OUT_FROM=1e3",
    "FORESCALE_FAN_OUT_FROM=0x10", "FORESCALE_FAN_OUT_FROM=-1", f"FORESCALE_FAN_OUT_FROM={'9' * 5000}",
    "FORESCALE_LEDGER_URL=nope", "FORESCALE_MLFLOW_URI=sqlite:///${X}", f"FORESCALE_LEDGER_URL={PASSWORD}",
    "FORESCALE_SCHEDULE=99 * * * *", "FORESCALE_SCHEDULE=@reboot", "FORESCALE_SPARK_MEMORY=lots",
    "FORESCALE_SPARK_SETTINGS=[1]", 'FORESCALE_SPARK_SETTINGS={"a": {"b": 1}}', "FORESCALE_HOME=/elsewhere",
    "FORESCALE_CLOCK=sundial", "FORESCALE_AIRFLOW_URL=javascript:alert(1)", "FORESCALE_MLRUNS=",
    "FORESCALE_MLRUNS=~/runs", "FORESCALE_TOPOLOGIES=\x01", "FORESCALE_MLFLOW_URI=http://h:0",
    'FORESCALE_OVERRIDE_USERS=["anna"]', "FORESCALE_OVERRIDE_USERS={}", "FORESCALE_REPORTS_URL=file:///etc",
    f"FORESCALE_MLFLOW_URI=host=db password={PASSWORD} user=anna", "A" * 10_000_000 + "=1",
)  # fmt: skip
"""Contents of a settings file, each with something wrong."""
FILES: dict[str, Callable[[Path], object]] = {
    "a pipe": _pipe,
    "a folder": Path.mkdir,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a link to itself": lambda path: path.symlink_to(path),
    "no file": lambda path: None,
    "an empty file": lambda path: path.write_bytes(b""),
    "noise": lambda path: path.write_bytes(NOISE),
    "50 MB": lambda path: path.write_bytes(b"a" * 50_000_000),
    "UTF-16": lambda path: path.write_bytes("token".encode("utf-16")),
    "null bytes": lambda path: path.write_bytes(b"\0" * 100),
    "a certificate cut short": lambda path: path.write_text("-----BEGIN CERTIFICATE-----\nMIIB\n"),
    "two words": lambda path: path.write_text(f"{PASSWORD} {PASSWORD}\n"),
    "a token with a line within": lambda path: path.write_text(f"{PASSWORD}\r\nX-Admin: 1"),
    "a setting without a value": lambda path: path.write_text(f"FORESCALE_LEDGER_URL\n{PASSWORD}\n"),
}
PLACES = {
    "ca_file": "cluster: {kind: flink, url: 'https://127.0.0.1:9', job: pair, ca_file: FILE}",
    "certificate_file": "cluster: {kind: flink, url: 'https://127.0.0.1:9', job: pair, certificate_file: FILE}",
    "key_file": "cluster: {kind: flink, url: 'https://127.0.0.1:9', job: pair, certificate_file: FILE, key_file: FILE}",
    "token_file": "cluster: {kind: flink, url: 'http://127.0.0.1:9', job: pair, token_file: FILE}",
    "kubeconfig": "cluster: {kind: kubernetes, namespace: n, kubeconfig: FILE, operators: {read: deployment/r, "
    "count: deployment/c}}",
    "a topology file": "",
}


def secret_file_inputs() -> Iterator[Wild]:
    """No such file is waited for, read whole or shown. Nobody listens, so what is taken is refused later."""
    for place, section in PLACES.items():
        for kind, make in FILES.items():

            def take(folder: Path, section: str = section, make: Callable[[Path], object] = make) -> Any:
                path = _fresh(folder)
                make(path)
                settings = Settings(home=folder / "home", topologies=folder)
                if not section:
                    from forescale.files.topology import read_topology_file

                    return read_topology_file(path)
                return cluster_of(
                    _config(section.replace("FILE", str(path)), folder), settings, clock_of(settings)
                ).state()

            yield Wild(place, kind, take, lambda _: False)


def settings_file_inputs() -> Iterator[Wild]:
    """A setting that is lost might change who decides: each is refused."""
    kinds = {kind: make for kind, make in FILES.items() if kind not in ("no file", "an empty file")}
    lines = {line: lambda path, line=line: path.write_text(line, encoding="utf-8") for line in LINES}
    for kind, make in (lines | kinds).items():

        def take(folder: Path, make: Callable[[Path], object] = make) -> Settings:
            (home := _fresh(folder)).mkdir()
            make(home / SETTINGS_FILE)
            return Settings(home=home)

        yield Wild(SETTINGS_FILE, kind, take, lambda _: False)


def _fresh(folder: Path) -> Path:
    """A path below the folder that does not exist."""
    return next(path for number in range(10**6) if not os.path.lexists(path := folder / f"file-{number}"))


KUBECONFIG = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "a",
    "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a", "namespace": "n"}}],
    "clusters": [{"name": "a", "cluster": {"server": "http://127.0.0.1:9", "insecure-skip-tls-verify": True}}],
    "users": [{"name": "a", "user": {"token": "t", "username": "u", "password": "p"}}],
}


def kubeconfig_inputs() -> Iterator[Wild]:
    """Nobody listens, so all are refused; those that are taken at first say that nobody does."""

    def ask(path: Path) -> Any:
        server = KubernetesServer("n", ClusterError, Identity(path), timeout_s=2.0)
        return server.get(DEPLOYMENT, "r")

    for wild in fields("kubeconfig", KUBECONFIG, yaml.safe_dump, ask):
        yield Wild(wild.kind, wild.value, wild.take, lambda _: False)


# Addresses with a password

MISTYPED = (
    f"http//anna:{PASSWORD}@h", f"anna:{PASSWORD}@h:8081", f"http://anna:{PASSWORD}@", f"http://anna@{PASSWORD}@h",
    f"http:// anna:{PASSWORD}@h", f"htp://anna:{PASSWORD}@h", f"http://anna:{PASSWORD}@h:port", f"//anna:{PASSWORD}@h",
    f"http://anna:{PASSWORD}@[h", f"http://anna:{PASSWORD} x@h", f"http://anna:{PASSWORD}#@h", f"http:/{PASSWORD}@h",
    f"http://anna:{PASSWORD}?@h", f"http:\\\\anna:{PASSWORD}@h", f"http://anna%3A{PASSWORD}@h", f"http://h/?p={PASSWORD}",
    f"user=anna password={PASSWORD} host=h", f"postgresql//anna:{PASSWORD}@h/d", f"http://anna:{PASSWORD}@h\n",
    f"s3://anna:{PASSWORD}@bucket", f"http://h:1/{PASSWORD}@x", f"HTTP://anna:{PASSWORD}@h:99999", f":{PASSWORD}@h",
)  # fmt: skip
ADDRESSED = {
    "cluster.url of Flink": "cluster: {kind: flink, url: URL, job: pair}",
    "cluster.url of Storm": "cluster: {kind: storm, url: URL}",
    "cluster.url of Heron": "cluster: {kind: heron, url: URL, cluster: c, environ: e}",
    "arrivals.url of Prometheus": "arrivals: {kind: prometheus, url: URL, queries: {read: reads_total}}",
    "arrivals.servers of Kafka": "arrivals: {kind: kafka, servers: URL, topics: {read: orders}}",
    "arrivals.path of files": "arrivals: {kind: events, path: URL, columns: {time: at}, source: read}",
}


def address_inputs() -> Iterator[Wild]:
    """A mistyped address is refused, or shown nowhere that an answer shows settings."""
    for place, section in ADDRESSED.items():
        for address in MISTYPED:

            def take(folder: Path, section: str = section, address: str = address) -> Any:
                return _config(section.replace("URL", json.dumps(address)), folder)

            yield Wild(place, address, take)
    for name in (name for name in Settings.model_fields if name.endswith(("_url", "_uri", "_ui", "_urls"))):
        for address in MISTYPED:

            def read(folder: Path, name: str = name, address: str = address) -> Settings:
                return Settings.model_validate({"home": folder, name: address})

            yield Wild(f"setting {name}", address, read, lambda taken: not canaries_in(str(taken.shown())))
