"""Heron's command line: `heron update`, which changes a running topology, and the packing that its dry run prints."""

import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from engines.bounded_command import OutputTooLongError, run_bounded
from engines.http import Failure

DRY_RUN_S = 120.0
UPDATE_S = 900.0
"""An update waits up to ten minutes for the new instances, and starts a JVM before and after."""

Run = Callable[[Sequence[str], float], "subprocess.CompletedProcess[str]"]
"""Runs a command with a timeout in seconds; raises like `run_bounded`."""

_LOCKED = "update lock can not be obtained"
"""Heron's message while another update of the topology holds the lock, even if its process was killed."""

_NEW, _OLD = "New packing plan:", "Old packing plan:"


class PackedInstance(BaseModel):
    """index: within the component, with gaps where instances were removed."""

    model_config = ConfigDict(frozen=True)

    component: str
    id: int
    index: int


class PackedContainer(BaseModel):
    model_config = ConfigDict(frozen=True)

    id: int
    instances: Annotated[tuple[PackedInstance, ...], Field(alias="components")]


_CONTAINERS = TypeAdapter(tuple[PackedContainer, ...])


class UpdateRefusedError(Exception):
    """`heron update` ended with an error; the message is its own."""


class HeronCli:
    """Updates one topology. command: start of the command line: `heron` or its path, and options for every call.

    place: cluster/role/environ, as given to `heron submit`. run: replaces the client in tests of rare answers.
    """

    def __init__(
        self, command: Sequence[str], place: str, topology: str, failure: Failure, *, run: Run = run_bounded
    ) -> None:
        self._command = tuple(command)
        self._place, self._topology, self._failure, self._call = place, topology, failure, run

    def update(self, parallelism: Mapping[str, int], timeout_s: float = UPDATE_S) -> None:
        """Set the instances of these components; others keep theirs. The topology has changed when this returns.

        Raises UpdateRefusedError if Heron refuses or fails half-way. Raises a failure if the command cannot be run,
        times out, or another update is under way, whose result is unknown until it ends.
        """
        self._run(parallelism, (), timeout_s)

    def dry_run(self, parallelism: Mapping[str, int]) -> tuple[PackedContainer, ...]:
        """The containers that such an update would create; nothing changes."""
        printed = self._run(parallelism, ("--dry-run", "--dry-run-format", "json"), DRY_RUN_S)
        new = printed.partition(_NEW)[2].partition(_OLD)[0]
        try:
            return _CONTAINERS.validate_python(json.loads(new)["containers"])
        except (ValueError, KeyError, TypeError, ValidationError):
            raise self._failure(
                f"{self._shown()} --dry-run answers in a shape that is not documented ({printed[-200:]!r}); "
                "check the version of its client"
            ) from None

    @property
    def activation(self) -> str:
        """The command that reactivates the spouts; an update that fails half-way may leave them paused."""
        return f"{self._command[0]} activate {self._place} {self._topology}"

    def _shown(self) -> str:
        return f"`{self._command[0]} update {self._place} {self._topology}`"

    def _run(self, parallelism: Mapping[str, int], options: Sequence[str], timeout_s: float) -> str:
        changes = [
            part for name, count in parallelism.items() for part in ("--component-parallelism", f"{name}:{count}")
        ]
        call = [*self._command, "update", self._place, self._topology, *changes, *options]
        try:
            done = self._call(call, timeout_s)
        except subprocess.TimeoutExpired:
            raise self._failure(
                f"{self._shown()} has not ended within {timeout_s:.0f} s and was stopped; see the scheduler's log, and "
                "deploy again: what runs then is checked first"
            ) from None
        except OutputTooLongError as error:
            raise self._failure(
                f"{self._shown()}: {error.strerror}; see what its client prints, and deploy again: what runs then is "
                "checked first"
            ) from None
        except OSError as error:
            raise self._failure(
                f"{self._shown()} cannot be run: {error.strerror}; install Heron's client here, or correct "
                "cluster.client"
            ) from None
        if done.returncode:
            output = " ".join((done.stderr.strip() or done.stdout.strip()).split())[-400:]
            if _LOCKED in output:
                raise self._failure(
                    f"{self._shown()}: another update is under way ({output[:200]}); deploy again when it has ended: "
                    "what runs then is checked first"
                )
            raise UpdateRefusedError(output or f"exit code {done.returncode}")
        return done.stdout
