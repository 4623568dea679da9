"""The schemas that are written down are those of the files that are read, and the examples keep to them."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from forescale.cli import main
from forescale.cli.config import KINDS, file_schema
from forescale.settings import Settings

PROJECT = Path(__file__).parents[3]
SCHEMAS = PROJECT / "docs" / "schemas"


@pytest.mark.parametrize("kind", KINDS)
def test_the_schema_in_the_docs__is_that_of_the_files(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["config", "schema", kind])
    assert ended.value.code == 0
    # After a change: forescale config schema KIND > docs/schemas/KIND.schema.json
    assert capsys.readouterr().out == (SCHEMAS / f"{kind}.schema.json").read_text()


@pytest.mark.parametrize(
    ("kind", "example"),
    [
        ("topology", "examples/topologies/call-analytics.yaml"),
        ("plan", "examples/call-analytics-busy.plan.yaml"),
        ("plan", "examples/call-analytics-night.plan.yaml"),
    ],
)
def test_the_examples__keep_to_their_schema(kind: str, example: str) -> None:
    schema = file_schema(kind)
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(json.loads(json.dumps(yaml.safe_load((PROJECT / example).read_text()))))


def test_a_plan_with_a_field_too_many__does_not_keep_to_it() -> None:
    errors = list(Draft202012Validator(file_schema("plan")).iter_errors({"topology": "t", "parallelism": {}, "x": 1}))
    assert ["'x' was unexpected" in error.message for error in errors] == [True]


def unbounded(schema: object, place: str = "") -> Iterator[str]:
    """Where a number may be as large as it likes."""
    if isinstance(schema, dict):
        bounds = {"maximum", "exclusiveMaximum", "const", "enum"}
        if schema.get("type") in ("number", "integer") and not bounds & schema.keys():
            yield place
        for name, each in schema.items():
            yield from unbounded(each, f"{place}.{name}")
    elif isinstance(schema, list):
        for number, each in enumerate(schema):
            yield from unbounded(each, f"{place}.{number}")


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "profile"])
def test_every_number_of_a_file__has_an_upper_bound(kind: str) -> None:
    # The quantile is one of four; profiles are bounded as a whole.
    assert [place for place in unbounded(file_schema(kind)) if not place.endswith(".quantile")] == []


def test_every_number_of_the_settings__has_an_upper_bound() -> None:
    assert list(unbounded(Settings.model_json_schema())) == []
