"""The lock of a deployment: one holder at a time, and nothing stays behind."""

import fcntl
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import pytest

from forescale.jobs.locks import deployment_lock
from forescale.settings import Settings
from forescale.situation.workspace import Workspace


def test_lock__is_held_once_and_leaves_no_file(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    for _ in range(2):
        with (
            deployment_lock(Workspace(settings), "hand-1/../2") as alone,
            deployment_lock(Workspace(settings), "hand-1/../2") as second,
        ):
            assert (alone, second) == (True, False)
    assert list((tmp_path / "deployments").iterdir()) == []


def test_lock__of_a_file_that_its_holder_has_removed_meanwhile_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One opens the file, whose holder then ends; another one locks a new file before the first locks the old one."""
    settings, flock = Settings(home=tmp_path), fcntl.flock
    with ExitStack() as another:

        def late(file: IO[str], how: int) -> None:
            monkeypatch.setattr(fcntl, "flock", flock)
            (tmp_path / "deployments" / "s-1.lock").unlink()
            assert another.enter_context(deployment_lock(Workspace(settings), "s-1"))
            flock(file, how)

        monkeypatch.setattr(fcntl, "flock", late)
        with deployment_lock(Workspace(settings), "s-1") as alone:
            assert not alone
