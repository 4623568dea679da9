"""What holds for all tests: how much of the machine each may take, and in which order and where they run."""

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

# Many processes on few cores: each computes with one thread, and Java, which lives for seconds here, compiles lightly.
# What has been imported by now has read its own; the workers, which run nearly all tests, inherit these.
for _name, _value in {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1",
}.items():
    os.environ.setdefault(_name, _value)

# How long an example takes says how busy the machine is.
settings.register_profile("forescale", settings.default, deadline=None)
settings.load_profile("forescale")

GIVES_WAY_FROM = 2
"""Workers 0 and 1 run what has servers; further ones compute, with what processor time these leave while they wait."""

WITH_SERVERS = Path(__file__).parent / "integration"


class ServerFolder(pytest.Package):
    """A folder whose tests share a server: what has the scope `package` ends with the last of them.

    A server that waits for the end of all tests slows them: Flink alone takes a quarter of a core.
    """

    def setup(self) -> None:
        """Nothing: there is no __init__.py."""


def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    return ServerFolder.from_parent(parent, path=path) if path.parent == WITH_SERVERS else None


def gives_way(worker: str) -> bool:
    """worker: as xdist counts them, `gw0` and so on."""
    return int(worker.removeprefix("gw")) >= GIVES_WAY_FROM


if gives_way(os.environ.get("PYTEST_XDIST_WORKER", "gw0")):
    os.nice(10)


class ByFolder(LoadScopeScheduling):
    """Folders with servers go to one worker as a whole, other files one by one."""

    def _split_scope(self, nodeid: str) -> str:
        file = Path(nodeid.split("::", 1)[0])
        return str(file.parent if file.parent.parent.name == WITH_SERVERS.name else file)

    def _assign_work_unit(self, node: Any) -> None:
        if gives_way(node.gateway.id):
            own = next((scope for scope in self.workqueue if Path(scope).suffix == ".py"), None)
            if own is None:
                node.shutdown()
                return
            self.workqueue.move_to_end(own, last=False)
        super()._assign_work_unit(node)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling | None:
    return ByFolder(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Folders with servers come first, as they take longest: none is left over when all others are done. Otherwise the
    order stays as it was drawn, and each folder's tests together.
    """
    folders: dict[Path, int] = {}
    for item in items:
        folders.setdefault(item.path.parent, len(folders))

    def rank(item: pytest.Item) -> tuple[bool, int]:
        folder = item.path.parent
        return folder.parent != WITH_SERVERS, folders[folder] if folder.parent == WITH_SERVERS else 0

    items.sort(key=rank)
