"""The wheel in an empty environment of another folder, which knows nothing of the checkout, runs the demo.

The environment is filled offline from uv's cache, which `make setup` has filled with what the lock names. Files of
dependencies are links into the cache, as 1.4 GB would be slow to copy; those of the wheel are copies.
"""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import sysconfig
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from forescale.cli.dags import BUNDLE
from forescale.settings import PROJECT

pytestmark = [pytest.mark.airflow, pytest.mark.mlflow, pytest.mark.spark, pytest.mark.slow]

EXTRAS = "demo"
DAG_IDS = ["aggregate", "deploy", "forecast", "guard", "notify", "plan", "prune", "record", "shadow"]
PATHS = """
import json, forescale
from forescale.places import bundled, download_cache
from forescale.settings import Settings
settings = Settings()
kept = [settings.home, settings.topologies, settings.mlruns, settings.ledger_sqlalchemy_url, settings.tracking_uri,
        settings.artifact_root, download_cache()]
read = [forescale.__file__, bundled("dags"), bundled("examples")]
print(json.dumps({"kept": list(map(str, kept)), "read": list(map(str, read))}))
"""
PARSE = """
import json, sys
from airflow.dag_processing.bundles.manager import DagBundlesManager
from airflow.dag_processing.dagbag import DagBag
bundle = DagBundlesManager().get_bundle("forescale")
bundle.initialize()
bags = [DagBag(str(folder), bundle_path=folder) for folder in (bundle.path, __import__("pathlib").Path(sys.argv[1]))]
heavy = {"pyspark", "pandas", "numba", "mlflow", "scipy", "prophet"}
print(json.dumps({
    "errors": [bag.import_errors for bag in bags],
    "dags": [sorted(bag.dag_ids) for bag in bags],
    "heavy": sorted(heavy & set(sys.modules)),
    "from": str(bundle.path),
}))
"""


@dataclass(frozen=True)
class Installed:
    """An environment with the wheel, and a folder beside it. environment: of its processes; nothing else is passed."""

    folder: Path
    environment: dict[str, str]

    @property
    def packages(self) -> Path:
        (found,) = (self.folder / "venv" / "lib").glob("python*/site-packages")
        return found

    def run(self, *command: str, **more: str) -> str:
        """Standard output of a program of that environment."""
        program = self.folder / "venv" / "bin" / command[0]
        done = subprocess.run(
            [program, *command[1:]],
            cwd=self.folder,
            env=self.environment | more,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Installed:
    folder = tmp_path_factory.mktemp("wheel")
    uv = shutil.which("uv", path=Path(sys.executable).parent)
    assert uv is not None
    python = folder / "venv" / "bin" / "python"
    build = ["build", "--wheel", "--no-build-isolation", "--python", sys.executable, "--out-dir", folder, PROJECT]
    ran(uv, *build)
    (wheel,) = folder.glob("*.whl")
    constraints = ran(sys.executable, PROJECT / "scripts" / "constraints.py", folder).strip()
    ran(uv, "venv", "--python", sys.executable, folder / "venv")
    install = ["pip", "install", "--python", python]
    try:
        ran(uv, *install, "--link-mode", "symlink", "--no-deps", "--requirement", constraints)
    except AssertionError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(f"uv's cache lacks what the lock names; make setup fills it: {error}")
    # Offline nothing can come but what is installed now: this fails where the constraints leave out what is needed.
    wanted = f"forescale[{EXTRAS}] @ {wheel.as_uri()}"
    ran(uv, *install, "--link-mode", "copy", "--constraint", constraints, wanted)
    packages = next((folder / "venv" / "lib").glob("python*/site-packages"))
    share_byte_code(packages)
    share_machine_code(packages)
    passed = {name: os.environ[name] for name in ("JAVA_HOME", "JAVA_TOOL_OPTIONS", "LANG") if name in os.environ}
    path = f"{folder / 'venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return Installed(
        folder, passed | {"PATH": path, "HOME": str(folder / "user"), "AIRFLOW_HOME": str(folder / "airflow")}
    )


def share_byte_code(packages: Path) -> None:
    """Link to what is compiled of the dependencies already. Python goes by it where it is of the same file, and no
    process of the demo compiles Airflow and MLflow first. What it compiles itself replaces the link.
    """
    compiled = Path(sysconfig.get_path("purelib"))
    for ours in compiled.rglob("__pycache__"):
        folder = packages / ours.relative_to(compiled)
        if folder.parent.is_dir():
            folder.mkdir(exist_ok=True)
            for file in ours.iterdir():
                with suppress(FileExistsError):  # some wheels bring theirs
                    (folder / file.name).symlink_to(file)


def share_machine_code(packages: Path) -> None:
    """Likewise to the loops that Numba has compiled already, of which a plan needs so many that they take longer than
    all else that it does. Numba goes by the time and size of their source. What it compiles itself replaces the link.
    """
    for code in (file for room in ("modeling", "planner") for file in (PROJECT / room).rglob("__pycache__/*.nb[ci]")):
        source = code.parents[1] / f"{code.name.partition('.')[0]}.py"
        installed = packages / source.relative_to(PROJECT)
        if source.is_file() and installed.is_file():
            os.utime(installed, ns=(source.stat().st_atime_ns, source.stat().st_mtime_ns))
            folder = installed.parent / "__pycache__"
            folder.mkdir(exist_ok=True)
            (folder / code.name).symlink_to(code)


def ran(*command: object) -> str:
    environment = os.environ | {"UV_OFFLINE": "1"}
    done = subprocess.run(
        list(map(str, command)), env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_wheel__reads_from_its_package_and_keeps_nothing_there(installed):
    paths = json.loads(installed.run("python", "-c", PATHS))
    user = str(installed.folder / "user")
    assert [path for path in paths["kept"] if user not in path or str(installed.packages) in path] == []
    assert [path for path in paths["read"] if not path.startswith(str(installed.packages))] == []


def test_airflow_that_knows_no_checkout__parses_the_dags_as_a_bundle_and_behind_links(installed):
    home = installed.folder / "home"
    installed.run("forescale", "config", "init", str(home))
    bundles = {"AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST": json.dumps([BUNDLE]), "FORESCALE_HOME": str(home)}
    seen = json.loads(installed.run("python", "-c", PARSE, str(home / "dags"), **bundles).splitlines()[-1])
    assert seen["errors"] == [{}, {}]
    assert seen["dags"] == [DAG_IDS, DAG_IDS]
    assert seen["from"] == str(installed.packages / "forescale" / "dags")
    assert seen["heavy"] == []


@pytest.mark.timeout(1200)  # two minutes on two cores, several times that on a machine that others use too
def test_demo__is_run_by_an_airflow_that_knows_no_checkout(installed):
    base = installed.folder / "var"
    told = json.loads(installed.run("forescale", "demo", "--quick", "--json", FORESCALE_HOME=str(base)))
    assert told["steps"]
    assert {step["state"] for step in told["steps"]} == {"verified"}
    assert told["calls_that_came"] > 0
    home = base / "demo"
    assert Path(told["report"]).is_relative_to(home)
    with sqlite3.connect(home / "airflow" / "airflow.db") as database:
        runs = database.execute("SELECT DISTINCT dag_id, state FROM dag_run ORDER BY dag_id").fetchall()
        files = {file for (file,) in database.execute("SELECT fileloc FROM dag")}
    database.close()
    assert runs == [(dag, "success") for dag in ("aggregate", "deploy", "forecast", "plan")]
    bundled = installed.packages / "forescale" / "dags"
    assert {Path(file).parent for file in files} == {bundled}
    # Whoever loaded anything of the checkout would say so in a log, at the latest in a warning's place.
    logs = list((home / "airflow" / "logs").rglob("*.log"))
    assert logs
    assert [log.name for log in logs if str(PROJECT) in log.read_text(encoding="utf-8", errors="replace")] == []
