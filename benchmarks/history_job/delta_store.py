"""The arrival history on Delta Lake through delta-rs, in two designs: what ADR 7 weighs against the own store.

Rows and key histograms of a topology are one table, so that a commit holds both; `kind` says which of them a file has.
Each design does the least that a store must; delta_promises.py tests the own store's further promises.
"""

import json
import os
import time
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.compute
from deltalake import CommitProperties, DeltaTable, QueryBuilder, Schema, Transaction, write_deltalake
from deltalake.transaction import AddAction, create_table_with_add_actions

from forecasting.arrivals.arrival_source import Arrivals
from forecasting.arrivals.rows import SCHEMA, rows_of
from forecasting.arrivals.storage.durable_files import sync_folder
from forecasting.arrivals.storage.key_histograms import histograms_of, histograms_table
from forecasting.arrivals.storage.local_folder import LocalFolder
from forecasting.arrivals.storage.parts import KEYS, ROWS, read_part, write_part

COLUMNS = ["source", "window_start", "count", "status"]
PARTITIONS = ["date", "kind"]
KEY_SCHEMA = histograms_table([]).schema
TABLE_SCHEMA = pa.schema(
    [pa.field(name, pa.string()) for name in PARTITIONS]
    + [field.with_nullable(True) for field in SCHEMA]
    + [field.with_nullable(True) for field in KEY_SCHEMA if field.name not in SCHEMA.names]
)


class DeltaRows:
    """delta-rs does everything: it writes rows, replaces a date by a predicate, and reads with DataFusion."""

    name = "rows by delta-rs"

    def __init__(self, folder: Path, topology: str) -> None:
        self._folder, self._topology = folder, topology

    def build(self, days: Iterable[Arrivals]) -> None:
        batches = (batch for day in days for batch in self._table(day).to_batches())
        reader = pa.RecordBatchReader.from_batches(TABLE_SCHEMA, batches)
        write_deltalake(self._folder, reader, partition_by=PARTITIONS)

    def replace(self, day: Arrivals) -> None:
        noted = CommitProperties(custom_metadata={"built_until": day.end.isoformat()})
        date = day.start.date()
        write_deltalake(
            self._folder, self._table(day), mode="overwrite", predicate=f"date = '{date}'", commit_properties=noted
        )

    def rows(self, start: datetime, end: datetime, version: int | None = None) -> pa.Table:
        query = f"SELECT {', '.join(COLUMNS)} FROM history WHERE kind = 'rows' AND {_between(start, end)}"
        return self._answer(query, version, pa.schema([SCHEMA.field(name) for name in COLUMNS]))

    def keys(self, start: datetime, end: datetime) -> int:
        query = (
            f"SELECT date, {', '.join(KEY_SCHEMA.names)} FROM history WHERE kind = 'keys' AND {_between(start, end)}"
        )
        table = self._answer(query, None, pa.schema([pa.field("date", pa.string()), *KEY_SCHEMA]))
        dates = table["date"].unique().to_pylist()
        of_dates = (table.filter(pa.compute.equal(table["date"], date)) for date in dates)
        return sum(len(histograms_of(held, date)) for date, held in zip(dates, of_dates, strict=True))

    def built_until(self) -> object:
        return DeltaTable(self._folder).history(1)[0].get("built_until")

    def _answer(self, query: str, version: int | None, schema: pa.Schema) -> pa.Table:
        table = DeltaTable(self._folder, version=version)
        # DataFusion returns string views.
        return pa.table(QueryBuilder().register("history", table).execute(query).read_all()).cast(schema)

    def _table(self, day: Arrivals) -> pa.Table:
        date = day.start.date().isoformat()
        kinds = {"rows": rows_of(self._topology, day), "keys": histograms_table(day.keys)}
        return pa.concat_tables([_widened(table, date, kind) for kind, table in kinds.items()])


class DeltaLog:
    """The own part files, durable and checked by their digest; Delta's log names the ones in force."""

    name = "own parts in Delta's log"

    def __init__(self, folder: Path, topology: str) -> None:
        self._folder, self._topology = folder, topology
        self._schema = Schema.from_arrow(TABLE_SCHEMA)
        self._parts_folder = LocalFolder(folder)
        folder.mkdir(parents=True)

    def build(self, days: Iterable[Arrivals]) -> None:
        added = [action for day in days for action in self._parts(day)]
        create_table_with_add_actions(str(self._folder), self._schema, added, partition_by=PARTITIONS)
        self._sync(0)

    def replace(self, day: Arrivals) -> None:
        added = self._parts(day)
        table = DeltaTable(self._folder)
        # Without the application transaction, two writers of a new date both succeed.
        noted = CommitProperties(
            custom_metadata={"built_until": day.end.isoformat()},
            app_transactions=[Transaction("forescale", table.version() + 1)],
        )
        date = [("date", "=", day.start.date().isoformat())]
        table.create_write_transaction(
            added, "overwrite", self._schema, PARTITIONS, partition_filters=date, commit_properties=noted
        )
        self._sync(table.version())

    def rows(self, start: datetime, end: datetime, version: int | None = None) -> pa.Table:
        names = self._files("rows", start, end, version)
        return pa.concat_tables([read_part(self._parts_folder, name, COLUMNS) for name in names])

    def keys(self, start: datetime, end: datetime) -> int:
        names = self._files("keys", start, end, None)
        held = ((read_part(self._parts_folder, name), name.partition("/")[0].removeprefix("date=")) for name in names)
        return sum(len(histograms_of(table, date)) for table, date in held)

    def built_until(self) -> object:
        return DeltaTable(self._folder).history(1)[0].get("built_until")

    def _files(self, kind: str, start: datetime, end: datetime, version: int | None) -> list[str]:
        table = DeltaTable(self._folder, version=version)
        chosen = f"kind = '{kind}' AND {_between(start, end)}"
        uris = table.file_uris(file_pruning_predicate=chosen)
        return sorted(str(Path(uri).relative_to(self._folder)) for uri in uris)

    def _parts(self, day: Arrivals) -> list[AddAction]:
        date = day.start.date().isoformat()
        of_date = self._folder / f"date={date}"
        of_date.mkdir(exist_ok=True)
        kinds = {"rows": (ROWS, rows_of(self._topology, day)), "keys": (KEYS, histograms_table(day.keys))}
        added = []
        for kind, (prefix, table) in kinds.items():
            below = f"date={date}/kind={kind}"
            path = self._folder / below / write_part(self._parts_folder, below, prefix, table)
            counted = json.dumps({"numRecords": table.num_rows})
            place, size, now_ms = str(path.relative_to(self._folder)), path.stat().st_size, int(time.time() * 1000)
            added.append(AddAction(place, size, {"date": date, "kind": kind}, now_ms, True, counted))
        return added

    def _sync(self, version: int) -> None:
        """Sync the version's file to disk, which delta-rs does not do."""
        log = self._folder / "_delta_log"
        with (log / f"{version:020}.json").open("rb") as entry:
            os.fsync(entry.fileno())
        sync_folder(log)


def _between(start: datetime, end: datetime) -> str:
    return f"date >= '{start.date()}' AND date < '{end.date()}'"


def _widened(table: pa.Table, date: str, kind: str) -> pa.Table:
    """The table in TABLE_SCHEMA; columns of the other kind are null."""
    known = {"date": pa.repeat(date, table.num_rows), "kind": pa.repeat(kind, table.num_rows)}
    columns = [
        known[field.name]
        if field.name in known
        else table[field.name].cast(field.type)
        if field.name in table.column_names
        else pa.nulls(table.num_rows, field.type)
        for field in TABLE_SCHEMA
    ]
    return pa.table(columns, schema=TABLE_SCHEMA)
