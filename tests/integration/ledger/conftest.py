"""A real PostgreSQL on loopback, in a folder of its own, for as long as the tests of this folder run."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from secrets import token_hex

import pytest
from server_process import free_ports
from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool


@pytest.fixture(scope="package")
def postgres() -> Iterator[str]:
    """URL of a database server, without the database's name. Skips where PostgreSQL is not installed."""
    programs = _programs()
    if programs is None:
        pytest.skip("PostgreSQL's initdb and pg_ctl are not installed")
    folder = Path(tempfile.mkdtemp(prefix="forescale-postgres-"))
    # PostgreSQL refuses to run as root.
    as_user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    if as_user:
        shutil.chown(folder, "postgres")
    password, (port,) = token_hex(8), free_ports(1)
    password_file, data = folder / "password", folder / "data"
    password_file.write_text(password)
    if as_user:
        shutil.chown(password_file, "postgres")
    initdb = [programs / "initdb", "-D", data, "-U", "forescale", "-A", "scram-sha-256", f"--pwfile={password_file}"]
    options = f"-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories={folder} -c fsync=off"
    control = [*as_user, programs / "pg_ctl", "-D", data, "-w", "-t", "240"]
    try:
        _run([*as_user, *initdb, "--no-sync", "--locale=C", "--encoding=UTF8"])
        _run([*control, "-o", options, "-l", folder / "log", "start"])
        try:
            yield f"postgresql+psycopg://forescale:{password}@127.0.0.1:{port}"
        finally:
            _run([*control, "-m", "fast", "stop"])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


NewDatabase = Callable[[], str]


@pytest.fixture
def new_database(postgres: str) -> NewDatabase:
    """Makes an empty database and tells its URL."""

    def made() -> str:
        name = f"made_{token_hex(8)}"
        engine = create_engine(f"{postgres}/postgres", isolation_level="AUTOCOMMIT", poolclass=NullPool)
        with engine.connect() as connection:
            connection.execute(text(f"CREATE DATABASE {name}"))
        return f"{postgres}/{name}"

    return made


@pytest.fixture
def programs(postgres: str) -> Path:
    """The folder of pg_dump and pg_restore, of the server's version."""
    found = _programs()
    assert found is not None
    return found


def _programs() -> Path | None:
    """Debian keeps PostgreSQL's programs outside PATH."""
    folders = [*sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)]
    if found := shutil.which("initdb"):
        folders.append(Path(found).resolve().parent)
    return next((f for f in folders if (f / "initdb").exists() and (f / "pg_ctl").exists()), None)


def _run(command: list[str | Path]) -> None:
    # The server keeps the pipes it inherits, so its output goes nowhere else than to its log.
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/"
    )
    if done.returncode != 0:
        pytest.fail(f"{' '.join(map(str, command))} ended with {done.returncode}")
