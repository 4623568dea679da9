"""docs/stability.md names what there is: versions of files, tables, DAGs, roles."""

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import get_args

import pytest

from forecasting.arrivals.storage.manifest import FORMAT
from forecasting.forecast_file import _Body
from forescale.files.profile import ProfilesEntry
from planner.ledger.tables import Base
from planner.replay.timeline import SCHEMA_VERSION as TIMELINE
from planner.schedule_json import SCHEMA_VERSION as SCHEDULE

PROJECT = Path(__file__).parents[2]
PAGE = (PROJECT / "docs" / "stability.md").read_text(encoding="utf-8")
FORECAST = _Body.model_fields["schema_version"].default
PROFILE = max(get_args(ProfilesEntry.model_fields["schema_version"].annotation))


def rows(heading: str) -> Iterator[list[str]]:
    """Cells of each row of the first table below a heading."""
    below = PAGE.partition(f"\n{heading}\n")[2].partition("\n|---")[2].partition("\n\n")[0]
    for line in below.splitlines()[1:]:
        yield [cell.strip() for cell in line.strip("|").split("|")]


def test_versions__are_those_that_this_release_writes() -> None:
    versions = {cells[0].split()[0]: int(cells[1]) for cells in rows("### Files") if cells[1] != "–"}
    assert versions == {
        "profile": PROFILE,
        "forecast": FORECAST,
        "history": FORMAT,
        "schedule": SCHEDULE,
        "timeline": TIMELINE,
    }


def test_tables__are_those_of_the_ledger() -> None:
    stable = {name for cells in rows("### Tables of the ledger") for name in re.findall(r"`(\w+)`", cells[0])}
    assert stable | {"guard_looks", "deployment_speeds", "notices"} == set(Base.metadata.tables)


@pytest.mark.parametrize("module", ["forecasting", "planner"])
def test_roles__have_their_page_of_reference(module: str) -> None:
    page = (PROJECT / "docs" / "reference" / f"{module}.md").read_text(encoding="utf-8")
    linked = re.search(rf"\[([^]]*)\]\(reference/{module}\.md\)", PAGE)
    assert linked is not None
    for role in re.findall(r"`(\w+)`", linked[1]):
        (place,) = re.findall(rf"^::: (\S+)\.{role}$", page, re.MULTILINE)
        assert getattr(getattr(import_module(place), role), "_is_protocol", False), role


def test_dags__are_those_that_the_package_carries() -> None:
    told = PAGE.partition("- DAGs (")[2].partition(")")[0]
    assert set(re.findall(r"`(\w+)`", told)) == {file.stem for file in (PROJECT / "dags").glob("*.py")}
