"""What holds for all tests: how much of the machine each may take, and in which order and where they run."""

import gc
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from copied_store import copied_ledgers, copied_stores
from spark_classes import options

# Many processes on few cores: each computes with one thread, and Java, which lives for seconds here, compiles lightly.
# What has been imported by now has read its own; the workers, which run nearly all tests, inherit these.
for _name, _value in {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1",
    "SPARK_SUBMIT_OPTS": options(),
}.items():
    os.environ.setdefault(_name, _value)

# Tests and what they import stay until the end: looking for garbage among them takes a quarter of their collection.
gc.disable()

WITH_SERVERS = Path(__file__).parent / "integration"
LONGEST = ("flink-2", "flink", "application", "airflow/served", "storm/word_count", "arrivals", "wheel", "kubernetes")
"""Groups that take minutes, mostly of waiting: begun last, one of them would be left over."""


@pytest.fixture(scope="session", autouse=True)
def _stores_are_copied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.getbasetemp()
    with copied_stores(folder), copied_ledgers(folder):
        yield


class ServerFolder(pytest.Package):
    """A folder whose tests share a server: what has the scope `package` ends with the last of them.

    A server that waits for the end of all tests slows them: Flink alone takes a quarter of a core.
    """

    def setup(self) -> None:
        """Nothing: there is no __init__.py."""


def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    return ServerFolder.from_parent(parent, path=path) if WITH_SERVERS in path.parents else None


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Who runs together, and when. Tests that share the servers of a folder are one group, unless a file names another:
    then two sets of servers share the work of the folder. Groups with servers come first, as they take longest: none
    is left over when all others are done. Where a folder below has servers of its own, its files run by name, as one
    may need servers that are new. Any other file is a group, so that what it prepares, and what is compiled for it, is
    made once and not in each process; those with slow tests come before the rest. Otherwise the order stays as drawn.
    """
    groups = {name: number - len(LONGEST) for number, name in enumerate(LONGEST)}
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    with_servers = cache(lambda path: WITH_SERVERS in path.parents)  # of a file with many tests asked once
    sharing = {item.path for item in items if with_servers(item.path) and _shares(item)}

    def group_of(item: pytest.Item) -> str:
        if named := item.get_closest_marker("xdist_group"):
            return str(named.args[0])
        return item.path.parent.relative_to(WITH_SERVERS).as_posix() if item.path in sharing else item.path.name

    def place(item: pytest.Item) -> tuple[int, str]:
        if not with_servers(item.path):
            return len(groups) + (item.path not in slow), ""
        group = group_of(item)
        return groups[group], item.path.name if "/" in group else ""

    for item in items:
        group = group_of(item)
        if with_servers(item.path):
            groups.setdefault(group, len(groups))
        if not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(group))
    items.sort(key=place)


def _shares(item: pytest.Item) -> bool:
    """Whether it uses a server of its folder, or Spark, whose JVM its process keeps."""
    definitions = item._fixtureinfo.name2fixturedefs.values() if isinstance(item, pytest.Function) else ()
    return item.get_closest_marker("spark") is not None or any(each[-1].scope == "package" for each in definitions)
