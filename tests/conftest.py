"""What holds for all tests: how much of the machine each may take, and in which order and where they run."""

import os
from pathlib import Path

import pytest

# Many processes on few cores: each computes with one thread, and Java, which lives for seconds here, compiles lightly.
# What has been imported by now has read its own; the workers, which run nearly all tests, inherit these.
for _name, _value in {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1",
}.items():
    os.environ.setdefault(_name, _value)

WITH_SERVERS = Path(__file__).parent / "integration"
LONGEST = ("flink", "airflow", "kubernetes", "wheel")
"""Folders that take minutes, mostly of waiting: begun last, one of them would be left over."""


class ServerFolder(pytest.Package):
    """A folder whose tests share a server: what has the scope `package` ends with the last of them.

    A server that waits for the end of all tests slows them: Flink alone takes a quarter of a core.
    """

    def setup(self) -> None:
        """Nothing: there is no __init__.py."""


def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    return ServerFolder.from_parent(parent, path=path) if WITH_SERVERS in path.parents else None


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A folder with servers is one group, and the groups come first, as they take longest: none is left over when all
    others are done. In a group, tests of a folder below share servers of their own, so each such folder is run at one
    go and its files by name, as one may need servers that are new. Otherwise the order stays as it was drawn.
    """
    groups = {name: number - len(LONGEST) for number, name in enumerate(LONGEST)}

    def place(item: pytest.Item) -> tuple[int, tuple[str, ...]]:
        if WITH_SERVERS not in item.path.parents:
            return len(groups), ()
        group, *below = item.path.relative_to(WITH_SERVERS).parts
        return groups[group], tuple(below) if len(below) > 1 else ()

    for item in items:
        if WITH_SERVERS in item.path.parents:
            group = item.path.relative_to(WITH_SERVERS).parts[0]
            item.add_marker(pytest.mark.xdist_group(group))
            groups.setdefault(group, len(groups))
    items.sort(key=place)
