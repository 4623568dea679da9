"""Numbers are digits alone: Python also reads 1_0 as ten, the digits of other scripts, and true as one."""

import json
from pathlib import Path

import pytest
from shadow_days import NAME, install

from forescale.cli.main import main
from forescale.files.file_error import FileError
from forescale.files.profile import read_profile_file
from forescale.files.topology import read_topology_file
from forescale.plain_numbers import typed_count
from forescale.settings import Settings


@pytest.mark.parametrize("value", [True, "1_0", "１"])
def test_profile__whose_number_is_none_is_refused_with_its_field(tmp_path: Path, value: object) -> None:
    (file := tmp_path / "profile.json").write_text(
        json.dumps({"schema_version": 2, "topology": NAME, "operators": {"count": {"service_s": value}}})
    )
    with pytest.raises(FileError, match=r"operators.count.service_s: .* is no number in digits alone"):
        read_profile_file(file)


@pytest.mark.parametrize("value", ['"3_0"', "３0", "!!bool yes"])
def test_topology__whose_number_is_none_is_refused_with_its_field(tmp_path: Path, value: str) -> None:
    install(tmp_path, "act")
    file = tmp_path / f"{NAME}.yaml"
    file.write_text(file.read_text().replace("downtime_s: 30, lead_s", f"downtime_s: {value}, lead_s"))
    with pytest.raises(FileError, match=r"planning.downtime_s: Input should be a "):
        read_topology_file(file)


def test_topology__takes_a_number_with_an_exponent_which_yaml_reads_as_text(tmp_path: Path) -> None:
    install(tmp_path, "act")
    file = tmp_path / f"{NAME}.yaml"
    file.write_text(file.read_text().replace("max_lag_s: 120", "max_lag_s: 12e1"))
    assert read_topology_file(file).planning.max_lag_s == 120


def test_setting__whose_number_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="in digits alone"):
        Settings.model_validate({"snapshot_days": "1_0"})


@pytest.mark.parametrize("value", ["2_0", "２０"])
def test_option__whose_number_is_none_is_refused(value: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["deploy", "outcomes", NAME, "--last", value])
    assert end.value.code == 2
    assert "--last" in capsys.readouterr().err


@pytest.mark.parametrize(("text", "count"), [("12", 12), ("１", None), ("1_0", None), ("", None), ("1" * 10, None)])
def test_count__is_plain_digits(text: str, count: int | None) -> None:
    assert typed_count(text) == count
