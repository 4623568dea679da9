"""What is stored, damaged by kinds: each column and field of the ledger, the simulator, forecasts and manifests."""

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from bad_inputs import NAME, Bench, Case

LISTED, EVALUATED = ["plan", "list", NAME], ["model", "evaluate", NAME]
SHOWN, DUE = ["history", "show", NAME], ["deploy", "due", NAME]
CLOCKS = (
    b"2026-03-02T06:00:00",
    b"\xff\xfe",
    b"9999-12-31T23:59:59+00:00",
    b"0001-01-01T00:00:00+00:00",
    b"",
    b"x" * 9999,
)
VALUES: tuple[Any, ...] = ("x", None, [], {}, -1, 0, 1e308, 10**30, True, "0000-01-01", "9999-12-31T23:59:59")


def stored_cases(bench: Bench) -> Iterator[Case]:
    yield from _ledger_cases(bench)
    yield from _json_cases(bench, "simulator/simulator.db", "simulator", "body", ["deploy", "due", NAME])
    yield from _json_cases(bench, "simulator/simulator.db", "simulator", "identity", ["deploy", "due", NAME])
    yield from _file_cases(bench)
    for text in CLOCKS:
        yield _case("clock file", text[:25], lambda home, text=text: (home / "clock").write_bytes(text), DUE)  # type: ignore[misc]
    part = next((bench.settings.history_dir).rglob("*.parquet")).relative_to(bench.settings.home)
    yield _case("part of the history", "cut short", lambda home: (home / part).write_bytes(b"PAR1"), SHOWN)


def _ledger_cases(bench: Bench) -> Iterator[Case]:
    with closing(sqlite3.connect(bench.settings.home / "ledger.db")) as ledger:
        for table in ("steps", "schedules", "forecasts", "outcomes"):
            for _, column, kind, needed, _, key in ledger.execute(f"PRAGMA table_info({table})").fetchall():
                if key or column in ("topology", "schedule_id", "report"):
                    continue
                command = {
                    "steps": LISTED,
                    "schedules": ["plan", "show", bench.schedule_id],
                    "forecasts": [*EVALUATED, "--plan", str(bench.folder / "plan.yaml")],
                    "outcomes": ["deploy", "outcomes", NAME],
                }[table]
                for value in ("x", "{", "[]", "7", "0000-01-01 00:00:00", b"\xff"):
                    text = kind.startswith("TEXT") and column != "state"
                    yield _case(
                        f"{table}.{column} of the ledger",
                        value,
                        _updated("ledger.db", table, column, value),
                        command,
                        may_be_taken=text or (value == "7" and kind != "JSON") or not needed,
                    )
    for column in ("plan", "replaces"):
        yield from _json_cases(bench, "ledger.db", "steps", column, LISTED)
    yield from _json_cases(bench, "ledger.db", "schedules", "body", ["plan", "show", bench.schedule_id])


def _json_cases(bench: Bench, database: str, table: str, column: str, command: Sequence[str]) -> Iterator[Case]:
    path = next(bench.settings.home.rglob(Path(database).name)).relative_to(bench.settings.home)
    with closing(sqlite3.connect(bench.settings.home / path)) as opened:
        body = json.loads(opened.execute(f"SELECT {column} FROM {table}").fetchone()[0])
    for at in json_leaves(body):
        for value in VALUES:
            damaged = json.dumps(json_replaced(body, at, value))
            yield _case(
                f"{table}.{column} of {Path(database).stem}: {'.'.join(map(str, at))}",
                value,
                _updated(str(path), table, column, damaged),
                command,
                may_be_taken=True,
            )


def _file_cases(bench: Bench) -> Iterator[Case]:
    home = bench.settings.home
    forecast = next(home.rglob("forecast.json")).relative_to(home)
    body = json.loads((home / forecast).read_text())
    command = [*EVALUATED, "--plan", str(bench.folder / "plan.yaml")]
    special: dict[str, dict[str, Any]] = {
        "unsorted quantiles": {"quantiles": body["quantiles"][::-1]},
        "rates of 1e300": {"rate_per_s": [[1e300] * 4 for _ in body["rate_per_s"]]},
        "another source": {"source": "count"},
        "no peaks": {"peak_per_s": {}},
        "ragged rates": {"rate_per_s": [[1.0], *body["rate_per_s"][1:]]},
        "ragged peaks": {"peak_per_s": {"3600": [1.0]}},
        "naive times": {"start": "2026-03-02T06:00:00"},
        "steps of 0 s": {"step_s": 0},
    }
    for what, fields in special.items():
        damaged = json.dumps(body | fields)
        yield _case("forecast.json", what, lambda at, damaged=damaged: (at / forecast).write_text(damaged), command)  # type: ignore[misc]
    for at in json_leaves(body):
        for value in VALUES:
            damaged = json.dumps(json_replaced(body, at, value))
            yield _case(
                f"forecast.json: {'.'.join(map(str, at))}",
                value,
                lambda to, damaged=damaged: (to / forecast).write_text(damaged),  # type: ignore[misc]
                command,
                may_be_taken=True,
            )
    yield _case(
        "paths.parquet", "noise", lambda at: (at / forecast.parent / "paths.parquet").write_bytes(b"x" * 99), command
    )
    manifest = home / "history" / f"topology={NAME}" / "_manifest.json"
    told = json.loads(manifest.read_text())
    where = manifest.relative_to(home)
    for at in json_leaves(told):
        for value in VALUES:
            damaged = _signed(json_replaced(told, at, value))
            yield _case(
                f"manifest: {'.'.join(map(str, at))}",
                value,
                lambda to, damaged=damaged: (to / where).write_text(damaged),  # type: ignore[misc]
                SHOWN,
                may_be_taken=True,
            )
    first, name = next(iter(told["parts"].items()))
    for what, parts in (("date ../", {f"../{first}": name}), ("name ../", {first: f"../{name}"}), ("no dates", {})):
        damaged = _signed({**told, "parts": parts})
        yield _case("manifest", what, lambda to, damaged=damaged: (to / where).write_text(damaged), SHOWN)  # type: ignore[misc]


def _signed(body: Any) -> str:
    """As whoever writes manifests signs them: what is wrong is not wrong by its digest alone."""
    try:
        content = {name: body[name] for name in ("window_s", "built_until", "parts", "keys")}
    except (KeyError, TypeError):
        return json.dumps(body)
    return json.dumps(
        {**body, "snapshot": hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]}
    )


def _case(
    place: str, value: object, damage: Callable[[Path], object], command: Sequence[str], *, may_be_taken: bool = False
) -> Case:
    def prepare(bench: Bench, folder: Path) -> list[str]:
        home = folder / "home"
        shutil.copytree(bench.settings.home, home)
        with closing(sqlite3.connect(home / "ledger.db")) as ledger, ledger:
            moved = "UPDATE forecasts SET folder = replace(folder, ?, ?)"
            ledger.execute(moved, (str(bench.settings.home), str(home)))
        damage(home)
        return list(command)

    return Case(f"{value!r:.30}", f"{place}, read by {' '.join(command[:2])}", prepare, may_be_taken=may_be_taken)


def _updated(database: str, table: str, column: str, value: object) -> Callable[[Path], None]:
    def update(home: Path) -> None:
        with closing(sqlite3.connect(home / database)) as opened, opened:
            opened.execute("PRAGMA ignore_check_constraints = ON")
            opened.execute(f"UPDATE {table} SET {column} = ?", (value,))

    return update


def json_leaves(body: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Where something stands in a JSON document, branches and leaves; of a list the first, of an object three."""
    if path:
        yield path
    children: Sequence[tuple[str | int, object]] = ()
    if isinstance(body, dict):
        children = list(body.items()) if len(path) == 0 else list(body.items())[:3]
    elif isinstance(body, list):
        children = list(enumerate(body[:1]))
    for key, value in children:
        yield from json_leaves(value, (*path, key))


def json_replaced(body: Any, path: tuple[str | int, ...], value: object) -> Any:
    """A copy with another value at one place."""
    copy = json.loads(json.dumps(body))
    at = copy
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return copy
