"""The section `cluster` of kind flink: addresses, logins, certificates and the command for slots."""

import re
import textwrap
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from forescale.cli.main import main
from forescale.files.clusters.flink import FlinkEntry

DOCS = Path(__file__).resolve().parents[3] / "docs" / "engines" / "flink.md"


def entry(**fields: Any) -> FlinkEntry:
    return FlinkEntry(kind="flink", **{"url": "https://jm-0:8081", "job": "words", **fields})


def test_connection__has_the_token_of_the_file_and_never_shows_it(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("sesame\n")
    of = entry(token_file=str(file), standby_urls=["https://jm-1:8081"], certificate_file="/c.pem", key_file="/k.pem")
    connection = of.connection()
    headers = connection["headers"]
    assert headers is not None
    assert headers["Authorization"].get_secret_value() == "Bearer sesame"
    assert "sesame" not in f"{of!r} {connection!r}"
    assert connection["standby_urls"] == ("https://jm-1:8081",)
    assert (connection["certificate_file"], connection["key_file"]) == ("/c.pem", "/k.pem")
    file.write_text("another")  # renewed
    assert (of.connection()["headers"] or {})["Authorization"].get_secret_value() == "Bearer another"


@pytest.mark.parametrize(("body", "message"), [("", "holds 0 words"), ("two words", "holds 2 words")])
def test_connection__of_a_file_that_holds_no_token_names_it_without_its_words(
    tmp_path: Path, body: str, message: str
) -> None:
    file = tmp_path / "token"
    file.write_text(body)
    with pytest.raises(ValueError, match=message) as raised:
        entry(token_file=str(file)).connection()
    assert str(file) in str(raised.value)
    assert "two" not in str(raised.value).removeprefix(f"token_file {file}")


def test_connection__of_a_file_that_is_not_there_names_it() -> None:
    with pytest.raises(ValueError, match=r"token_file /no/such cannot be read: No such file or directory"):
        entry(token_file="/no/such").connection()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"token_file": "/t", "token_env": "T"}, "and so does token_env"),
        ({"token_file": "/t", "headers_env": {"authorization": "T"}}, "and so does headers_env"),
        ({"key_file": "/k.pem"}, "key_file needs certificate_file"),
        ({"url": "http://jm:8081", "certificate_file": "/c.pem"}, "certificate_file needs TLS"),
        ({"standby_urls": ["jm-1:8081"]}, "no address of a job manager"),
        ({"standby_urls": ["https://me:sesame@jm-1:8081"]}, "give it in url alone"),
        ({"slots_command": ["kubectl", "{slots_total}"]}, "give the absolute path"),
        ({"slots_command": ["/bin/slots"]}, "passes no number"),
        ({"slots_command": []}, "at least 1 item"),
        ({"rescale": "savepoint"}, "go together"),
        ({"restart": {"jar": "j", "program_args": [], "savepoints": "/s"}}, "go together"),
        ({"restart": {"jar": "j", "program_args": [], "savepoints": "s"}}, "savepoints"),
    ],
)
def test_section__that_cannot_be_used_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        entry(**fields)


def test_check_operators__refuses_a_program_that_is_not_given_a_parallelism() -> None:
    restart = {"jar": "j", "program_args": ["--split={split}"], "savepoints": "s3://bucket/savepoints"}
    of = entry(rescale="savepoint", restart=restart)
    of.check_operators(["split"])
    with pytest.raises(ValueError, match=r"gives operator 'count' no parallelism; add \{count\}"):
        of.check_operators(["split", "count"])


def test_docs__show_every_field_in_examples_that_are_sections() -> None:
    blocks = [textwrap.dedent(each) for each in re.findall(r"```yaml\n(.*?)```", DOCS.read_text(), re.DOTALL)]
    section, restart = yaml.safe_load(blocks[0])["cluster"], yaml.safe_load(blocks[1])
    FlinkEntry(**section)
    of = FlinkEntry(**{**section, **restart})
    of.check_operators(["sentences", "split", "count"])
    assert set(FlinkEntry.model_fields) - set(section) - set(restart) == {"token_env"}  # of which the comment tells
    assert of.restart is not None
    assert set(type(of.restart).model_fields) == set(restart["restart"])


def test_command__of_a_topology_whose_token_lacks_says_so_without_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    body = yaml.safe_load((DOCS.parents[2] / "examples" / "flink" / "word-count.yaml").read_text())
    body["cluster"]["token_env"] = "NO_SUCH_TOKEN"
    (tmp_path / "word-count.yaml").write_text(yaml.safe_dump(body))
    monkeypatch.setenv("FORESCALE_HOME", str(tmp_path))
    monkeypatch.setenv("FORESCALE_TOPOLOGIES", str(tmp_path))
    with pytest.raises(SystemExit) as ended:
        main(["deploy", "now", "word-count", "--set", "count=2"])
    assert ended.value.code == 1
    assert "the environment variable NO_SUCH_TOKEN" in " ".join(capsys.readouterr().err.split())
