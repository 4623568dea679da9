"""Flink's REST interface as recorded from a real 2.3.0 cluster of 4 slots, with answers that a test may replace."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

JOB = "111ec939ff932e44d3c1da736a14d432"
SOURCE, SPLIT, COUNT = (
    "bc764cd8ddf7a0cff126f51c16239658",
    "0a448493b4782967b150582570326227",
    "ea632d67b7d595e5b851708ae9ad79d6",
)
TASK_MANAGER = "127.0.0.1:38573-4113c4"
RESCALE = "5f3deee89651f6b1f3616d5ba4843ff9"
_RECORDED = Path(__file__).parent / "recorded"

Answer = Callable[[httpx.Request], httpx.Response]


def recorded(name: str) -> Any:
    """Body of a recorded answer, fresh each time."""
    return json.loads((_RECORDED / f"{name}.json").read_text())["body"]


def recorded_status(name: str) -> int:
    return int(json.loads((_RECORDED / f"{name}.json").read_text())["status"])


class RecordedFlink:
    """A job that runs sentences 1 · split 2 · count 2 on 4 slots. `asked` holds the PUT bodies that it got."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        job = f"/jobs/{JOB}"
        self.bodies: dict[str, Any] = {
            "/jobs/overview": recorded("jobs_overview"),
            job: recorded("job"),
            f"{job}/resource-requirements": recorded("requirements"),
            f"{job}/vertices/{SOURCE}": recorded("vertex0"),
            f"{job}/vertices/{SPLIT}": recorded("vertex1"),
            f"{job}/vertices/{COUNT}": recorded("vertex2"),
            "/taskmanagers": recorded("taskmanagers"),
            f"/taskmanagers/{TASK_MANAGER}": recorded("taskmanager"),
            f"{job}/rescales/history": recorded("rescales_history"),
            f"{job}/rescales/details/{RESCALE}": recorded("rescale_details"),
        }
        self.answers: dict[tuple[str, str], Answer] = {}

    @property
    def job(self) -> Any:
        return self.bodies[f"/jobs/{JOB}"]

    @property
    def requirements(self) -> Any:
        return self.bodies[f"/jobs/{JOB}/resource-requirements"]

    def replace(self, method: str, path: str, answer: Answer) -> None:
        """Answer that request in another way."""
        self.answers[method, path] = answer

    def transport(self) -> httpx.MockTransport:
        return httpx.MockTransport(self._answer)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        if answer := self.answers.get((request.method, path)):
            return answer(request)
        if request.method == "PUT":
            self.asked.append(json.loads(request.content))
            return httpx.Response(200, json={})
        if path not in self.bodies:
            return httpx.Response(404, json={"errors": [f"Not found: {path}"]})
        return httpx.Response(200, json=self.bodies[path])
