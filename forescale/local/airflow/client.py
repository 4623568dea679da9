"""The part of Airflow's REST API that is needed here: start a run, wait for its end, answer a review, read a log."""

import time
from collections.abc import Iterator, Mapping
from typing import Any

import httpx
from pydantic import SecretStr

from engines.http import Connection, JsonServer
from forescale.local.errors import AirflowError

TIMEOUT_S, HEALTH_S = 120.0, 5.0
"""On a busy machine an answer takes a while."""
ENDED = {"success", "failed"}
POLL_S = 0.3


class _RefusedError(AirflowError):
    """The session has ended, or its user may not do what was asked."""


class _Session(JsonServer):
    """With the token of a user, or of nobody."""

    def __init__(self, url: str, token: str | None = None, timeout_s: float = TIMEOUT_S) -> None:
        headers = {} if token is None else {"Authorization": SecretStr(f"Bearer {token}")}
        super().__init__("Airflow", url, AirflowError, **Connection(timeout_s=timeout_s, headers=headers))

    def refusal(self, message: str) -> Exception:
        return _RefusedError(str(self.failure(message)))


class AirflowClient:
    """One user's session. url: of the web interface; the client logs in again whenever the session has ended."""

    def __init__(self, url: str, user: str, password: str) -> None:
        self.url = url
        self._user = user
        self._password = password
        self._session: _Session | None = None

    def health(self) -> dict[str, str]:
        """Status per component, `healthy` or not; empty while the server does not answer."""
        try:
            status, body = _Session(self.url, timeout_s=HEALTH_S).get("/api/v2/monitor/health")
        except AirflowError:
            return {}
        if status != httpx.codes.OK or not isinstance(body, dict):
            return {}
        parts = ((name, part) for name, part in body.items() if isinstance(part, dict) and "status" in part)
        return {name: str(part["status"]) for name, part in parts}

    def request(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        """The JSON answer of /api/v2/PATH. Raises AirflowError with the status and Airflow's reason."""
        signed_in, self._session = self._session, None
        session = signed_in or self._signed_in()
        try:
            status, answer = session.call(method, f"/api/v2/{path}", query, body=body, idempotent=method == "GET")
        except _RefusedError:
            if signed_in is None:  # it was not that the session has ended
                raise
            return self.request(method, path, body, **query)
        self._session = session
        if status >= httpx.codes.BAD_REQUEST:
            detail = answer.get("detail") if isinstance(answer, dict) else None
            reason = session.excerpt(detail or answer, 500)
            raise AirflowError(f"Airflow answers {status} to {method} {path}: {reason}")
        return answer

    def _signed_in(self) -> _Session:
        nobody = _Session(self.url)
        try:
            login = {"username": self._user, "password": self._password}
            status, answer = nobody.call("POST", "/auth/token", body=login)
        except _RefusedError:
            raise AirflowError(f"Airflow does not let {self._user!r} in; look into the passwords file") from None
        token = answer.get("access_token") if isinstance(answer, dict) else None
        if status >= httpx.codes.BAD_REQUEST or not (
            isinstance(token, str) and token.isascii() and token.isprintable()
        ):
            raise AirflowError(
                f"Airflow at {self.url} answers {status} without a token to the login of {self._user!r}; check that "
                "the address is Airflow's own"
            )
        return _Session(self.url, token)

    def _listed(self, key: str, path: str, fields: tuple[str, ...], **query: Any) -> list[dict[str, Any]]:
        """What an answer lists, each with these fields. Raises AirflowError for any other."""
        answer = self.request("GET", path, **query)
        rows = answer.get(key) if isinstance(answer, dict) else None
        if not isinstance(rows, list) or not all(isinstance(row, dict) and set(fields) <= row.keys() for row in rows):
            raise _Session(self.url).surprise(path, answer)
        return rows

    def dag_ids(self) -> set[str]:
        return {str(dag["dag_id"]) for dag in self._listed("dags", "dags", ("dag_id",), limit=100)}

    def paused(self) -> dict[str, bool]:
        """Whether each parsed DAG is paused, by its id."""
        dags = self._listed("dags", "dags", ("dag_id", "is_paused"), limit=100)
        return {str(dag["dag_id"]): bool(dag["is_paused"]) for dag in dags if not dag.get("is_stale")}

    def import_errors(self) -> list[str]:
        """The files that Airflow cannot import as DAGs, each with its traceback."""
        errors = self._listed("import_errors", "importErrors", ("filename", "stack_trace"), limit=100)
        return [f"{error['filename']}:\n{error['stack_trace']}" for error in errors]

    def set_pool(self, name: str, slots: int) -> None:
        """Create a pool, or leave the one of that name as it is."""
        if name not in {pool["name"] for pool in self._listed("pools", "pools", ("name",), limit=100)}:
            self.request("POST", "pools", {"name": name, "slots": slots})

    def trigger(self, dag_id: str, conf: Mapping[str, Any] | None = None, run_id: str | None = None) -> str:
        """Start a run; returns its id. Raises AirflowError if the form's fields do not fit their schema."""
        body: dict[str, Any] = {"logical_date": None, "conf": dict(conf or {})}
        if run_id is not None:
            body["dag_run_id"] = run_id
        return str(self.request("POST", f"dags/{dag_id}/dagRuns", body)["dag_run_id"])

    def runs(self, dag_id: str) -> list[dict[str, Any]]:
        """The latest hundred runs, oldest first: dag_run_id, state, conf …"""
        fields = ("dag_run_id", "state")
        runs = self._listed("dag_runs", f"dags/{dag_id}/dagRuns", fields, limit=100, order_by="-run_after")
        return list(reversed(runs))

    def run_state(self, dag_id: str, run_id: str) -> str:
        return str(self.request("GET", f"dags/{dag_id}/dagRuns/{run_id}")["state"])

    def task_instances(self, dag_id: str, run_id: str) -> list[dict[str, Any]]:
        """task_id, map_index, state, try_number …"""
        path = f"dags/{dag_id}/dagRuns/{run_id}/taskInstances"
        return self._listed("task_instances", path, ("task_id", "state", "try_number", "map_index"), limit=100)

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
        """Reviews waiting for an answer, of one run or of all: subject, body, options, task_instance …

        An answer that comes between the question and its task's wait for it may be lost on SQLite, which has no row
        locks: such a question is not listed yet.
        """
        path = f"dags/{dag_id}/dagRuns/{run_id}/hitlDetails"
        query = {"response_received": False, "state": "awaiting_input"}
        return self._listed("hitl_details", path, ("task_instance",), **query)

    def answer(self, review: Mapping[str, Any], choice: str, text: str = "") -> None:
        """Answer an open review as this user; text: why, or what to edit."""
        task = review["task_instance"]
        path = (
            f"dags/{task['dag_id']}/dagRuns/{task['dag_run_id']}/taskInstances/{task['task_id']}"
            f"/{task['map_index']}/hitlDetails"
        )
        self.request("PATCH", path, {"chosen_options": [choice], "params_input": {"text": text}})


def _log_line(entry: Mapping[str, Any]) -> str:
    details = entry.get("error_detail") or [{}]
    return " ".join(
        str(part) for part in (entry.get("event"), details[0].get("exc_type"), details[0].get("exc_value")) if part
    )
