"""A tracking store that cannot be used is refused soon, before MLflow itself is asked."""

import socket
import time
from pathlib import Path

import pytest

from forecasting.errors import TrackingError
from forecasting.tracking import store_access
from forecasting.tracking.store_access import connected_client


def test_a_server_that_takes_connections_and_never_answers__is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_access, "ANSWER_TIMEOUT_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        begun = time.monotonic()
        port = silent.getsockname()[1]
        with pytest.raises(TrackingError, match=rf"127.0.0.1:{port} takes connections and did not answer within 0.2 s"):
            connected_client(f"http://127.0.0.1:{port}")
    assert time.monotonic() - begun < 5


@pytest.mark.mlflow
@pytest.mark.slow
def test_an_empty_file__is_no_database(tmp_path: Path) -> None:
    (file := tmp_path / "mlflow.db").touch()
    with pytest.raises(TrackingError, match="is no database, or an empty file; move it away"):
        connected_client(f"sqlite:///{file}")
    assert file.stat().st_size == 0
