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
    """Who runs together, and when. A folder with servers is one group, and these come first, as they take longest: none
    is left over when all others are done. In such a group, tests of a folder below share servers of their own, so it is
    run at one go and its files by name, as one may need servers that are new. Any other file is a group, so that what
    it prepares, and what is compiled for it, is made once and not in each process; those with slow tests come before
    the rest. Otherwise the order stays as it was drawn.
    """
    groups = {name: number - len(LONGEST) for number, name in enumerate(LONGEST)}
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    for item in items:
        group = item.path.relative_to(WITH_SERVERS).parts[0] if WITH_SERVERS in item.path.parents else item.path.name
        item.add_marker(pytest.mark.xdist_group(group))
        if WITH_SERVERS in item.path.parents:
            groups.setdefault(group, len(groups))

    def place(item: pytest.Item) -> tuple[int, tuple[str, ...]]:
        if WITH_SERVERS not in item.path.parents:
            return len(groups) + (item.path not in slow), ()
        group, *below = item.path.relative_to(WITH_SERVERS).parts
        return groups[group], tuple(below) if len(below) > 1 else ()

    items.sort(key=place)
