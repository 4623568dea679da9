"""What holds for all tests: how much of the machine each may take, and in which order their files run."""

import os

import pytest

# Many processes on few cores: each computes with one thread, and Java, which lives for seconds here, compiles lightly.
# Before anything is imported that reads them.
for _name, _value in {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1",
}.items():
    os.environ.setdefault(_name, _value)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that take long come first, so that none of them is left over when all others are done."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)
