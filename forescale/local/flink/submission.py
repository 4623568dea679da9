"""Submit a job to a local cluster, and cancel it."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

import httpx

from forescale.local.errors import LocalFlinkError

_Files = Mapping[str, tuple[str, BinaryIO, str]]


def submit_job(
    url: str, jar: Path, arguments: Mapping[str, str], *, main_class: str | None = None, within_s: float = 60.0
) -> str:
    """Upload the jar, run it at parallelism 1 and wait until all its tasks run. Returns the job's id.

    arguments: name → value, given to the job as `--name value`. main_class: if not the one named in the jar.
    Raises LocalFlinkError when Flink refuses the job or it does not run within_s seconds.
    """
    words = [word for name, value in arguments.items() for word in (f"--{name}", value)]
    with httpx.Client(base_url=url, timeout=60.0, trust_env=False) as client:
        with jar.open("rb") as body:
            files = {"jarfile": (jar.name, body, "application/java-archive")}
            uploaded = _call(client, "POST", "/jars/upload", files=files)
        run = {"programArgsList": words, "parallelism": 1, **({"entryClass": main_class} if main_class else {})}
        jar_id = str(uploaded["filename"]).rsplit("/", 1)[-1]
        job_id = str(_call(client, "POST", f"/jars/{jar_id}/run", json=run)["jobid"])
        _wait_until_running(client, job_id, within_s)
    return job_id


def cancel_job(url: str, job_id: str, *, within_s: float = 60.0) -> None:
    """Cancel the job and wait until it is gone. A finished job is left as it is."""
    with httpx.Client(base_url=url, timeout=30.0, trust_env=False) as client:
        deadline = time.monotonic() + within_s
        while time.monotonic() < deadline:
            if _call(client, "GET", f"/jobs/{job_id}")["state"] in ("CANCELED", "FAILED", "FINISHED"):
                return
            client.patch(f"/jobs/{job_id}", params={"mode": "cancel"})  # idempotent
            time.sleep(0.3)
    raise LocalFlinkError(f"job {job_id} at {url} is not cancelled after {within_s:g} s; look into Flink's logs")


def _wait_until_running(client: httpx.Client, job_id: str, within_s: float) -> None:
    deadline = time.monotonic() + within_s
    state = "unknown"
    while time.monotonic() < deadline:
        job = _call(client, "GET", f"/jobs/{job_id}")
        state, vertices = str(job.get("state")), job.get("vertices")
        running = isinstance(vertices, list) and vertices and all(v["status"] == "RUNNING" for v in vertices)
        if state == "RUNNING" and running:
            return
        if state == "FAILED":
            history = _call(client, "GET", f"/jobs/{job_id}/exceptions").get("exceptionHistory")
            entries = history.get("entries") if isinstance(history, dict) else None
            traces = [str(entry.get("stacktrace")) for entry in entries or []]
            raise LocalFlinkError(f"job {job_id} failed as it started: {_root_cause(traces)}")
        time.sleep(0.3)
    raise LocalFlinkError(f"job {job_id} is {state} and does not run after {within_s:g} s; look into Flink's logs")


def _call(
    client: httpx.Client,
    method: str,
    path: str,
    *,
    json: object = None,
    files: _Files | None = None,
) -> Mapping[str, object]:
    try:
        response = client.request(method, path, json=json, files=files)
        body = response.json()
    except (httpx.HTTPError, ValueError) as error:
        raise LocalFlinkError(
            f"Flink at {client.base_url} does not answer {method} {path} ({error}); see whether it still runs"
        ) from None
    if response.is_error or not isinstance(body, dict):
        errors = body.get("errors", []) if isinstance(body, dict) else [body]
        reason = _root_cause([str(error) for error in errors])
        raise LocalFlinkError(f"Flink refuses {method} {path} (HTTP {response.status_code}): {reason}")
    return body


def _root_cause(traces: list[str]) -> str:
    """The last cause in Java's stack traces."""
    lines = "\n".join(traces).splitlines() or ["no reason given"]
    causes = [line for line in lines if line.startswith("Caused by:")]
    return (causes[-1] if causes else lines[0])[:1000]
