"""A real S3 server on loopback for tests: versitygw over a folder, whose sub-folders are the buckets."""

import contextlib
import os
import re
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from server_process import free_ports, killed, started

from forescale.settings import PROJECT

SOURCE = PROJECT / "tests" / "s3"
CACHE = PROJECT / ".cache" / "s3"
ACCESS_KEY, SECRET_KEY = "forescale-tests", "a-secret-of-the-tests"  # a server of our own, on loopback
BUCKET = "histories"


class S3Error(RuntimeError):
    """There is no S3 server to start here, or it did not come up."""


@dataclass(frozen=True)
class LocalS3:
    """A running server. objects: the folder with its buckets, for what no client can do to an object."""

    url: str
    objects: Path

    def environment(self) -> Mapping[str, str]:
        """What AWS's settings are for its clients; none of the machine's own is left."""
        nowhere = str(self.objects.parent / "no-file-of-aws")
        return {
            "AWS_ENDPOINT_URL_S3": self.url,
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
            "AWS_REGION": "us-east-1",
            "AWS_CONFIG_FILE": nowhere,
            "AWS_SHARED_CREDENTIALS_FILE": nowhere,
            "AWS_EC2_METADATA_DISABLED": "true",
            "NO_PROXY": "127.0.0.1",
        }

    def client(self) -> Any:
        """For what a test looks at or does besides the history."""
        import botocore.session

        return botocore.session.Session().create_client(
            "s3",
            region_name="us-east-1",
            endpoint_url=self.url,
            aws_access_key_id=ACCESS_KEY,
            aws_secret_access_key=SECRET_KEY,
        )


def s3_program() -> Path:
    """Raises S3Error where it was not built."""
    version = re.search(r"github\.com/versity/versitygw (v\S+)", (SOURCE / "go.mod").read_text(encoding="utf-8"))
    assert version is not None, f"{SOURCE}/go.mod names no version of versitygw"
    program = CACHE / version[1] / "s3-server"
    if not program.is_file():
        raise S3Error(f"no {program}; run: bash scripts/tools.sh s3")
    return program


def require_s3() -> None:
    """Skip the test where there is no S3 server to start; fail where CI=true."""
    try:
        s3_program()
    except S3Error as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))


@contextlib.contextmanager
def local_s3(folder: Path, within_s: float = 120.0) -> Iterator[LocalS3]:
    """With the empty bucket BUCKET. Raises S3Error where it does not come up in time."""
    objects, metadata = folder / "objects", folder / "metadata"
    for each in (objects, metadata):
        each.mkdir(parents=True)
    (port,) = free_ports(1)
    place = f"127.0.0.1:{port}"
    keys = ["env", f"ROOT_ACCESS_KEY={ACCESS_KEY}", f"ROOT_SECRET_KEY={SECRET_KEY}"]
    command = [*keys, str(s3_program()), str(objects), str(metadata), place]
    process = started(command, folder / "s3.log", folder)
    server = LocalS3(f"http://{place}", objects)
    try:
        _wait_until_ready(server, process, folder / "s3.log", within_s)
        server.client().create_bucket(Bucket=BUCKET)
        yield server
    finally:
        killed(process)


def _wait_until_ready(server: LocalS3, process: subprocess.Popen[bytes], log: Path, within_s: float) -> None:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(f"{server.url}/healthz", timeout=5, trust_env=False).is_success:
                return
        time.sleep(0.05)
    said = log.read_text(encoding="utf-8", errors="replace")
    raise S3Error(f"the S3 server at {server.url} did not come up; the end of {log}:\n{said[-1500:]}")
