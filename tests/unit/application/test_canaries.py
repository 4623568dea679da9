"""No secret in what commands say or leave behind, also where they fail because of it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from bad_inputs import LENGTHY, NAME, Bench, Parameter, bench, command_line
from bad_inputs import commands as all_commands
from canaries import canaries_below, canaries_in, canary, echo, planted_settings, url_with
from forked_commands import DEFECT, KILLED, TOO_LARGE, Ending, ForkedCommands
from pydantic import BaseModel, SecretStr, ValidationError

from forescale.files.arrivals_section import ArrivalsSection
from forescale.files.cluster_section import ClusterSection
from forescale.files.http_access import EnvironmentVariable
from forescale.settings import Settings

pytestmark = pytest.mark.slow

OF_THE_LEDGER = (
    ["config", "check"],
    ["doctor", NAME],
    ["plan", "list", NAME],
    ["plan", NAME],
    ["notify"],
    ["metrics"],
)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return bench(tmp_path_factory.mktemp("bench"))


@pytest.fixture(scope="module")
def commands() -> Iterator[ForkedCommands]:
    with ForkedCommands() as forked:
        yield forked


def check(ending: Ending, line: list[str]) -> None:
    said = ending.out + ending.err
    assert ending.code not in (DEFECT, KILLED, TOO_LARGE), f"{line} ends with {ending.code} and says {said}"
    assert canaries_in(said) == set(), f"{line} says {said}"


def test_no_command__shows_or_keeps_a_secret_setting(
    installed: Bench, commands: ForkedCommands, tmp_path: Path
) -> None:
    whole = installed.environment() | planted_settings()
    of_the_others = installed.environment() | planted_settings("ledger_url")
    lines = [command_line(installed, Parameter(words, "-", "-", ""), "") for words in all_commands().keys() - LENGTHY]
    for line in [*lines, ["forecast", NAME]]:
        check(commands.run(line, of_the_others, tmp_path), line)
    for line in OF_THE_LEDGER:
        check(commands.run(line, whole, tmp_path), line)
    assert canaries_below(installed.settings.home, tmp_path) == {}


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("MLFLOW_UI", url_with(canary("ui")), "has an @, and so perhaps a login"),
        ("SPARK_SETTINGS", json.dumps({"spark.key": [canary("key")]}), "Input should be a valid string"),
        ("SPARK_SETTINGS", json.dumps([canary("key")]), "Input should be a valid dictionary"),
        ("REVIEW", canary("review"), "Input should be a valid boolean"),
        ("CLOCK", canary("clock"), "Input should be 'real', 'trace' or 'paced'"),
        ("FAN_OUT_FROM", canary("number"), "Input should be a valid integer"),
        ("SNAPSHOT_DAYS", f"token {canary('days')}", "Input should be a valid number"),
        ("SCHEDULE", canary("schedule"), "a text that is not shown is no cron of five fields"),
        ("SPARK_MEMORY", canary("memory"), "a text that is not shown is no amount of memory"),
    ],
)
def test_a_setting_that_is_refused__is_named_and_not_shown(
    name: str, value: str, message: str, commands: ForkedCommands, tmp_path: Path
) -> None:
    ending = commands.run(["config", "check"], {"FORESCALE_HOME": str(tmp_path), f"FORESCALE_{name}": value}, tmp_path)
    assert f"forescale: setting FORESCALE_{name}: {message}" in ending.err
    check(ending, ["config", "check"])
    with pytest.raises(ValidationError) as caught:
        Settings.model_validate({name.lower(): json.loads(value) if value[0] in "[{" else value})
    assert canaries_in(str(caught.value)) == set()


MISTYPED = ("anna:{}@h", "http:/anna:{}@h", "http://anna:{}/x@h:5000", "//anna:{}@h", "postgresql//anna:{}@h/db")
"""Addresses of which nobody can say where the password is."""


@pytest.mark.parametrize("name", ["MLFLOW_URI", "MLFLOW_UI", "LEDGER_URL", "AIRFLOW_URL", "HISTORY_URI", "REPORTS_URL"])
def test_a_mistyped_address__shows_no_password(
    name: str, installed: Bench, commands: ForkedCommands, tmp_path: Path
) -> None:
    for address in MISTYPED:
        environment = installed.environment() | {f"FORESCALE_{name}": address.format(canary(name))}
        for line in (["config", "check", "--json"], ["doctor", NAME, "--json"], ["forecast", "reproduce", "0" * 32]):
            check(commands.run(line, environment, tmp_path), line)


# Sections of a topology file

EXAMPLES: dict[str, dict[str, Any]] = {
    "arrivals kafka": {
        "servers": "127.0.0.1:9",
        "topics": {"read": "reads"},
        "settings": {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "anna"},
        "timeout_s": 0.5,
    },
    "arrivals prometheus": {"url": "", "queries": {"read": "reads_total"}},
    "arrivals heron": {"url": "", "cluster": "c", "environ": "e", "spouts": {"read": "read"}},
    "arrivals storm": {"url": "", "spouts": {"read": "read"}},
    "cluster flink": {"url": "", "job": "pair"},
    "cluster flink-operator": {"url": "", "namespace": "n", "deployment": "pair"},
    "cluster heron": {"url": "", "cluster": "c", "environ": "e"},
    "cluster kubernetes": {"namespace": "n", "operators": {"read": "deployment/r", "count": "deployment/c"}},
    "cluster storm": {"url": ""},
}
"""What each kind requires beside its secrets; an empty url is that of a server."""
LINES = {
    "arrivals": (["history", "record", NAME], ["history", "build", NAME]),
    "cluster": (["doctor", NAME], ["deploy", "now", NAME, "--set=count=2"]),
}
"""What asks the server of a section."""
WITHOUT_SECRETS = {"arrivals events", "cluster simulator"}
UNSENT = {"arrivals kafka": "password_env", "cluster flink": "key_file", "cluster flink-operator": "url"}
"""What a server is never sent that speaks neither Kafka nor TLS, and knows of no FlinkDeployment."""


@dataclass(frozen=True)
class Place:
    """A field of a section that holds a secret, or says where one is."""

    section: str
    kind: str
    name: str

    @property
    def example(self) -> str:
        return f"{self.section} {self.kind}"

    def __str__(self) -> str:
        return f"{self.example} {self.name}"


def entries(section: Any) -> list[type[BaseModel]]:
    """The classes of a union, whatever annotates it."""
    if isinstance(section, type) and issubclass(section, BaseModel):
        return [section]
    return [each for part in get_args(section) for each in entries(part)]


def places() -> list[Place]:
    """By the type of the field, or by its name: addresses, and files of others."""
    return [
        Place(section, get_args(entry.model_fields["kind"].annotation)[0], field.alias or name)
        for section, union in (("arrivals", ArrivalsSection), ("cluster", ClusterSection))
        for entry in entries(union)
        for name, field in entry.model_fields.items()
        if (field.alias or name) in ("url", "kubeconfig", "token_file", "key_file")
        or {EnvironmentVariable, SecretStr} & {field.annotation, *get_args(field.annotation)}
    ]


KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: c
clusters: [{name: c, cluster: {server: "SERVER"}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
users: [{name: u, user: {token: "SECRET"}}]
"""


def planted(place: Place, server: str, folder: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """The section with a canary in that place, and the environment that it names."""
    secret, address = canary(str(place)), server.partition("://")[2]
    section = EXAMPLES[place.example] | {"kind": place.kind}
    if "url" in section:
        section["url"] = server
    file = folder / "secret"
    file.write_text(
        KUBECONFIG.replace("SERVER", server).replace("SECRET", secret) if "config" in place.name else secret
    )
    match place.name:
        case "url":
            section["url"] = url_with(secret, address)
        case "headers_env":
            section["headers_env"] = {"X-Key": "PLANTED"}
        case "key_file":
            section |= {"key_file": str(file), "certificate_file": str(file), "url": f"https://{address}"}
        case "kubeconfig" | "token_file":
            section[place.name] = str(file)
        case _:
            section[place.name] = "PLANTED"
    return section, {"PLANTED": secret}


def test_every_kind_of_section__is_planted_or_has_no_secret() -> None:
    kinds = {
        f"{section} {get_args(entry.model_fields['kind'].annotation)[0]}"
        for section, union in (("arrivals", ArrivalsSection), ("cluster", ClusterSection))
        for entry in entries(union)
    }
    assert kinds == EXAMPLES.keys() | WITHOUT_SECRETS
    assert {place.example for place in places()} == EXAMPLES.keys()


@pytest.mark.parametrize("place", places(), ids=str)
def test_no_command__shows_or_keeps_a_secret_of_a_section(
    place: Place, installed: Bench, commands: ForkedCommands, tmp_path: Path
) -> None:
    body = yaml.safe_load((installed.settings.topologies / f"{NAME}.yaml").read_text())
    home, files, work = (tmp_path / name for name in ("home", "files", "work"))
    for folder in (files, work):
        folder.mkdir()
    with echo() as (server, came):
        section, environment = planted(place, server, tmp_path)
        (files / f"{NAME}.yaml").write_text(yaml.safe_dump(body | {place.section: section}))
        environment |= installed.environment(home) | {"FORESCALE_TOPOLOGIES": str(files), "FORESCALE_CLOCK": "real"}
        for line in LINES[place.section]:
            check(commands.run(line, environment, work), line)
    assert came or UNSENT.get(place.example) == place.name
    assert canaries_below(home, work) == {}
