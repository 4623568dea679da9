"""The part of Airflow's REST API that is needed here: start a run, wait for its end, answer a review, read a log."""

import time
from collections.abc import Iterator, Mapping
from typing import Any

import httpx

from forescale.local.errors import AirflowError

TIMEOUTS = httpx.Timeout(30, read=120)
"""Seconds; on a busy machine an answer takes a while."""
ENDED = {"success", "failed"}
POLL_S = 0.3


class AirflowClient:
    """One user's session. url: of the web interface; the client logs in again whenever the session has ended."""

    def __init__(self, url: str, user: str, password: str) -> None:
        self.url = url
        self._user = user
        self._password = password
        # trust_env=False: a proxy from the environment cannot reach our loopback.
        self._http = httpx.Client(base_url=url, timeout=TIMEOUTS, trust_env=False)
        self._signed_in = False

    def close(self) -> None:
        self._http.close()

    def health(self) -> dict[str, str]:
        """Status per component, `healthy` or not; empty while the server does not answer."""
        try:
            answer = self._http.get("/api/v2/monitor/health", timeout=5)
        except httpx.TransportError:
            return {}
        if answer.status_code != httpx.codes.OK:
            return {}
        return {name: str(part["status"]) for name, part in answer.json().items() if isinstance(part, dict)}

    def request(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        """The JSON answer of /api/v2/PATH. Raises AirflowError with the status and Airflow's reason."""
        answer = self._send(method, path, body, query)
        if answer.status_code == httpx.codes.UNAUTHORIZED:
            self._signed_in = False
            answer = self._send(method, path, body, query)
        if answer.is_error:
            raise AirflowError(f"Airflow answers {answer.status_code} to {method} {path}: {_reason(answer)}")
        return answer.json() if answer.content else None

    def _send(self, method: str, path: str, body: Any, query: Mapping[str, Any]) -> httpx.Response:
        try:
            if not self._signed_in:
                self._sign_in()
            return self._http.request(method, f"/api/v2/{path}", json=body, params=query)
        except httpx.TransportError as error:
            raise AirflowError(f"Airflow at {self.url} does not answer: {error!r}; is it still up?") from None

    def _sign_in(self) -> None:
        answer = self._http.post("/auth/token", json={"username": self._user, "password": self._password})
        if answer.is_error:
            raise AirflowError(
                f"Airflow does not let {self._user!r} in ({answer.status_code}); look into the passwords file"
            )
        self._http.headers["Authorization"] = f"Bearer {answer.json()['access_token']}"
        self._signed_in = True

    def dag_ids(self) -> set[str]:
        return {dag["dag_id"] for dag in self.request("GET", "dags", limit=100)["dags"]}

    def paused(self) -> dict[str, bool]:
        """Whether each parsed DAG is paused, by its id."""
        dags = self.request("GET", "dags", limit=100)["dags"]
        return {dag["dag_id"]: bool(dag["is_paused"]) for dag in dags if not dag.get("is_stale")}

    def import_errors(self) -> list[str]:
        """The files that Airflow cannot import as DAGs, each with its traceback."""
        errors = self.request("GET", "importErrors", limit=100)["import_errors"]
        return [f"{error['filename']}:\n{error['stack_trace']}" for error in errors]

    def set_pool(self, name: str, slots: int) -> None:
        """Create a pool, or leave the one of that name as it is."""
        if name not in {pool["name"] for pool in self.request("GET", "pools", limit=100)["pools"]}:
            self.request("POST", "pools", {"name": name, "slots": slots})

    def trigger(self, dag_id: str, conf: Mapping[str, Any] | None = None, run_id: str | None = None) -> str:
        """Start a run; returns its id. Raises AirflowError if the form's fields do not fit their schema."""
        body: dict[str, Any] = {"logical_date": None, "conf": dict(conf or {})}
        if run_id is not None:
            body["dag_run_id"] = run_id
        return str(self.request("POST", f"dags/{dag_id}/dagRuns", body)["dag_run_id"])

    def runs(self, dag_id: str) -> list[dict[str, Any]]:
        """The latest hundred runs, oldest first: dag_run_id, state, conf …"""
        answer = self.request("GET", f"dags/{dag_id}/dagRuns", limit=100, order_by="-run_after")
        return list(reversed(answer["dag_runs"]))

    def run_state(self, dag_id: str, run_id: str) -> str:
        return str(self.request("GET", f"dags/{dag_id}/dagRuns/{run_id}")["state"])

    def task_instances(self, dag_id: str, run_id: str) -> list[dict[str, Any]]:
        """task_id, map_index, state, try_number …"""
        path = f"dags/{dag_id}/dagRuns/{run_id}/taskInstances"
        return list(self.request("GET", path, limit=100)["task_instances"])

    def wait_for_end(self, dag_id: str, run_id: str, timeout_s: float) -> str:
        """`success` or `failed`. Raises AirflowError when it has not ended in time."""
        deadline = time.monotonic() + timeout_s
        while (state := self.run_state(dag_id, run_id)) not in ENDED:
            if time.monotonic() > deadline:
                tasks = self._states(dag_id, run_id)
                raise AirflowError(f"run {run_id} of {dag_id} is still {state} after {timeout_s:g} s; tasks: {tasks}")
            time.sleep(POLL_S)
        return state

    def wait_for_success(self, dag_id: str, run_id: str, timeout_s: float) -> None:
        """Raises AirflowError, with the end of the failed task's log, unless the run succeeds in time."""
        if self.wait_for_end(dag_id, run_id, timeout_s) != "success":
            reasons = "\n".join(self.failures(dag_id, run_id))
            raise AirflowError(f"run {run_id} of the DAG {dag_id} failed:\n{reasons}")

    def failures(self, dag_id: str, run_id: str) -> Iterator[str]:
        """For each failed task, its name and the last errors of its log."""
        for task in self.task_instances(dag_id, run_id):
            if task["state"] == "failed":
                yield f"task {task['task_id']}: {self.log_tail(dag_id, run_id, task)}"

    def log_tail(self, dag_id: str, run_id: str, task: Mapping[str, Any], lines: int = 8) -> str:
        """The last error messages of a task's log, or its last lines if it has none."""
        path = f"dags/{dag_id}/dagRuns/{run_id}/taskInstances/{task['task_id']}/logs/{task['try_number']}"
        content = self.request("GET", path, map_index=task["map_index"], full_content=True)["content"]
        entries = [entry for entry in content if isinstance(entry, dict)]
        errors = [entry for entry in entries if entry.get("level") in {"error", "critical"}] or entries
        return "\n".join(_log_line(entry) for entry in errors[-lines:])

    def _states(self, dag_id: str, run_id: str) -> str:
        return ", ".join(f"{task['task_id']} {task['state']}" for task in self.task_instances(dag_id, run_id))

    def open_reviews(self, dag_id: str = "~", run_id: str = "~") -> list[dict[str, Any]]:
        """Reviews waiting for an answer, of one run or of all: subject, body, options, task_instance …"""
        path = f"dags/{dag_id}/dagRuns/{run_id}/hitlDetails"
        return list(self.request("GET", path, response_received=False)["hitl_details"])

    def answer(self, review: Mapping[str, Any], choice: str, text: str = "") -> None:
        """Answer an open review as this user; text: why, or what to edit."""
        task = review["task_instance"]
        path = (
            f"dags/{task['dag_id']}/dagRuns/{task['dag_run_id']}/taskInstances/{task['task_id']}"
            f"/{task['map_index']}/hitlDetails"
        )
        self.request("PATCH", path, {"chosen_options": [choice], "params_input": {"text": text}})


def _reason(answer: httpx.Response) -> str:
    try:
        return str(answer.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return answer.text[:500]


def _log_line(entry: Mapping[str, Any]) -> str:
    details = entry.get("error_detail") or [{}]
    return " ".join(
        str(part) for part in (entry.get("event"), details[0].get("exc_type"), details[0].get("exc_value")) if part
    )
