"""What the import contracts in pyproject.toml cannot say of the architecture."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from shadow_days import install

PROJECT = Path(__file__).resolve().parents[2]


HEAVY = {"airflow", "botocore", "mlflow", "prophet", "pyspark", "scipy.signal", "scipy.stats", "statsmodels"}


@pytest.mark.parametrize(
    ("code", "never"),
    [
        (
            "from forescale.cli.commands import every_command\nfrom forescale.cli.main import application\n"
            "for words in every_command(): application(*words)",
            HEAVY,
        ),
        (
            "from forescale.cli import main; main(['--help'])",
            HEAVY | {"numpy", "pandas", "pyarrow", "scipy"},
        ),
    ],
    ids=["every command", "help"],
)
@pytest.mark.slow
def test_what_is_asked_for_often__imports_nothing_heavy(code: str, never: set[str]) -> None:
    code = f"import sys\ntry: exec({code!r})\nfinally: print(sorted(sys.modules))"
    result = subprocess.run([sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, check=True)
    imported = set(ast.literal_eval(result.stdout.splitlines()[-1]))
    assert "forescale.cli.output" in imported
    assert not never & imported


OWN = ("engines", "forecasting", "forescale", "modeling", "planner")
MODEL = {"networkx", "numba", "scipy.optimize", "scipy.special"}
PAGES = {"jinja2", "plotly.graph_objects"}


@pytest.mark.parametrize(
    ("modules", "most", "never"),
    [
        ("forescale.files.topology", 72, HEAVY | MODEL | PAGES | {"httpx", "pandas", "pyarrow", "sqlalchemy"}),
        ("planner.ledger.ledger", 55, HEAVY | MODEL | PAGES | {"alembic", "httpx", "pandas"}),
        (
            "forescale.jobs.aggregate, forescale.situation.workspace",
            118,
            HEAVY | MODEL | PAGES | {"httpx", "pandas", "sqlalchemy"},
        ),
        ("forescale.jobs.record", 102, HEAVY | MODEL | PAGES | {"httpx", "pandas", "pyarrow", "sqlalchemy"}),
        ("forescale.jobs.observe", 152, HEAVY | MODEL | PAGES | {"httpx", "pandas", "pyarrow"}),
        (
            "forescale.jobs.plan",
            438,
            HEAVY | {"alembic", "httpx", "networkx", "pandas", "scipy.linalg", "scipy.special"},
        ),
    ],
)
@pytest.mark.slow
def test_what_starts_often__imports_few_modules(modules: str, most: int, never: set[str]) -> None:
    """Airflow starts a process for each task; a chain of imports through one type would load the whole product."""
    code = f"import sys, {modules}; print(sorted(sys.modules))"
    result = subprocess.run([sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, check=True)
    imported = set(ast.literal_eval(result.stdout))
    own = sorted(name for name in imported if name.partition(".")[0] in OWN)
    assert len(own) <= most, own
    assert not never & imported


@pytest.mark.slow
def test_listing_steps__imports_neither_model_nor_arrow(tmp_path: Path) -> None:
    install(tmp_path, "act")
    code = "import sys\ntry: from forescale.cli import main; main(['plan', 'list', 'pair'])"
    code += "\nfinally: print(sorted(sys.modules))"
    places = {"HOME": tmp_path / "home", "TOPOLOGIES": tmp_path, "CLOCK": "trace"}
    environment = dict(os.environ) | {f"FORESCALE_{name}": str(place) for name, place in places.items()}
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=PROJECT, env=environment, capture_output=True, text=True, check=True
    )
    imported = set(ast.literal_eval(result.stdout.splitlines()[-1]))
    assert "planner.ledger.ledger" in imported
    assert not imported & (HEAVY | MODEL | PAGES | {"httpx", "pandas", "pyarrow"})


def test_jobs_and_what_they_are_made_of__do_not_read_the_environment() -> None:
    """Settings are handed to them: commands and Airflow's tasks read the environment."""
    rooms = ("jobs", "wiring", "report", "history", "tracking", "local/demo")
    files = [file for room in rooms for file in (PROJECT / "forescale" / room).rglob("*.py")]
    assert len(files) > 50
    reads = re.compile(r"\bSettings\(\)|\bos\.(environ|getenv)\b")
    assert [file.name for file in files if reads.search(file.read_text(encoding="utf-8"))] == []


def test_the_project__names_no_package_registry_and_not_where_it_lies() -> None:
    """So that it installs from whatever index a machine uses, wherever it is."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=PROJECT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout: nothing tells which files are the project's")
    tracked = listed.stdout
    hosts = [b"pypi" + b".org", b"pythonhosted" + b".org", b"registry.npmjs" + b".org", b"repo1.maven" + b".org"]
    for name in tracked.decode().split("\0"):
        path = PROJECT / name
        if name and path.is_file():
            body = path.read_bytes()
            assert not [host for host in [*hosts, f"{PROJECT}/".encode()] if host in body], name


def test_documentation__tells_what_each_extra_is_needed_for() -> None:
    extras = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    page = (PROJECT / "docs" / "airflow.md").read_text(encoding="utf-8")
    table = page.partition("| extra | needed for |")[2].partition("\n\n")[0]
    named = {name for row in table.splitlines() if row for name in re.findall("`([a-z0-9]+)`", row.split("|")[1])}
    assert named == set(extras) - {"airflow-spark"}  # which the page tells to install otherwise
