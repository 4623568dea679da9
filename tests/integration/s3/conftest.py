"""One real S3 server on loopback for all tests of this folder; each test has a prefix of its own."""

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from s3_server import BUCKET, LocalS3, local_s3, require_s3

from forecasting.arrivals.storage import s3_client, s3_folder
from forecasting.arrivals.storage.directory import S3Directory


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalS3]:
    require_s3()
    with local_s3(tmp_path_factory.mktemp("s3")) as running:
        forget_stores()
        yield running
        forget_stores()


@pytest.fixture
def s3(server: LocalS3, monkeypatch: pytest.MonkeyPatch) -> LocalS3:
    """The server, which AWS's settings of this process name."""
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    return server


@pytest.fixture
def directory(s3: LocalS3) -> S3Directory:
    return S3Directory(BUCKET, f"{uuid.uuid4().hex}/history")


@pytest.fixture
def kept(s3: LocalS3, directory: S3Directory) -> Path:
    """The folder in which the server keeps the objects of the directory."""
    return s3.objects / directory.bucket / directory.prefix


@pytest.fixture
def other_settings(s3: LocalS3, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Changes AWS's settings of this process, as a new process would find them; None takes one away."""

    def change(**settings: str | None) -> None:
        for name, value in settings.items():
            monkeypatch.delenv(name, raising=False) if value is None else monkeypatch.setenv(name, value)
        forget_stores()

    yield change
    forget_stores()


def forget_stores() -> None:
    """Clients are made, and stores looked at, once for a process."""
    s3_client._connection.cache_clear()
    s3_folder._checked_once.cache_clear()
