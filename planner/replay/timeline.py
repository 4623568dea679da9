"""The timeline: each policy minute by minute, as a Parquet file from which scores are recomputed.

Decisions are in `timeline.decisions.parquet`, next to `timeline.parquet`. Both are documented in docs/replay.md.
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from forecasting.bounded_file import check_regular
from modeling.arrays import Flags, Floats, Ints
from planner.errors import PlanError
from planner.pricing.instance_cost import InstanceCost
from planner.replay.run import Replayed, Taken

SCHEMA_VERSION = 2
_MOMENT = pa.timestamp("ms", tz="UTC")
_TEXT = pa.dictionary(pa.int32(), pa.string())
COLUMNS = pa.schema(
    [
        ("policy", _TEXT),
        ("seed", pa.int64()),
        ("minute", _MOMENT),
        ("arrivals_per_s", pa.float64()),
        ("plan", _TEXT),
        ("instances", pa.int64()),
        ("capacity_per_s", pa.float64()),
        ("backlog", pa.float64()),
        ("lag_s", pa.float64()),
        ("in_downtime", pa.float64()),
        ("utilisation", pa.float64()),
        ("violation", pa.bool_()),
    ]
)
DECISIONS = pa.schema(
    [
        ("policy", _TEXT),
        ("seed", pa.int64()),
        ("decided_at", _MOMENT),
        ("in_effect_at", _MOMENT),
        ("plan", _TEXT),
        ("why", pa.string()),
    ]
)


@dataclass(frozen=True)
class Track:
    """One policy and seed of a timeline, arrays of shape (minutes,); the columns of the file.

    minute: epoch seconds. plan: index in `plans`.
    """

    policy: str
    seed: int
    minute: Floats
    arrivals_per_s: Floats
    plan: Ints
    plans: tuple[Mapping[str, int], ...]
    instances: Ints
    capacity_per_s: Floats
    backlog: Floats
    lag_s: Floats
    in_downtime: Floats
    utilisation: Floats
    violation: Flags
    decisions: tuple[Taken, ...]

    @property
    def changes_s(self) -> Floats:
        """When the decisions that were carried out took effect, in epoch seconds."""
        effects = [each.in_effect_s for each in self.decisions if each.in_effect_s is not None]
        return np.array(effects, dtype=np.float64)

    @property
    def days(self) -> float:
        return self.minute.size / 1440


@dataclass(frozen=True)
class Timeline:
    """max_lag_s: the target of `violation`. notes: caveats of the load and the profiles. per_instance: resources and
    cost of an instance of each operator. allowed_share: of all minutes, in violation.
    """

    topology: str
    max_lag_s: float
    tracks: tuple[Track, ...]
    notes: tuple[str, ...] = ()
    per_instance: Mapping[str, InstanceCost] = field(default_factory=dict)
    allowed_share: float = 0.0

    @property
    def policies(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(track.policy for track in self.tracks))

    def of(self, policy: str) -> tuple[Track, ...]:
        return tuple(track for track in self.tracks if track.policy == policy)


def track_of(one: Replayed, max_lag_s: float) -> Track:
    counts, number = np.unique(one.parallelism, axis=0, return_inverse=True)
    plans = tuple(dict(zip(one.topology.order, each.tolist(), strict=True)) for each in counts)
    return Track(
        one.policy,
        one.seed,
        one.start_s,
        one.arrivals_per_s,
        number.reshape(-1).astype(np.int64),
        plans,
        one.instances,
        one.capacity_per_s,
        one.backlog,
        one.lag_s,
        one.down_s,
        one.utilisation,
        one.lag_s > max_lag_s,
        one.decisions,
    )


def decisions_path(path: Path) -> Path:
    return path.with_suffix(".decisions.parquet")


def write_timeline(timeline: Timeline, path: Path) -> None:
    """Write both files, each one atomically. Raises PlanError if they cannot be written."""
    head = {
        "schema_version": SCHEMA_VERSION,
        "topology": timeline.topology,
        "max_lag_s": timeline.max_lag_s,
        "allowed_share": timeline.allowed_share,
        "notes": timeline.notes,
        "per_instance": {name: asdict(cost) for name, cost in timeline.per_instance.items()},
    }
    metadata = {b"forescale": json.dumps(head).encode()}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for table, to in (
            (_minutes(timeline.tracks), path),
            (_decisions(timeline.tracks), decisions_path(path)),
        ):
            part = to.with_name(f"{to.name}.{os.getpid()}.part")
            try:
                pq.write_table(table.replace_schema_metadata(metadata), part)
                part.replace(to)
            finally:
                part.unlink(missing_ok=True)
    except OSError as error:
        raise PlanError(f"timeline {path} cannot be written: {error}; give another --out") from None


def read_timeline(path: Path) -> Timeline:
    """Raises PlanError with the file's name if it is no timeline."""
    try:
        for file in (path, decisions_path(path)):
            check_regular(file)
        table, decided = pq.read_table(path), pq.read_table(decisions_path(path))
        head = json.loads((table.schema.metadata or {})[b"forescale"])
        version = head["schema_version"]
    except FileNotFoundError as error:
        raise PlanError(f"timeline {path} does not exist whole: {error}; run `forescale replay` first") from None
    except (OSError, KeyError, ValueError, pa.ArrowException) as error:
        raise PlanError(f"{path} is not a timeline of a replay: {error}; run `forescale replay` again") from None
    if version != SCHEMA_VERSION:
        raise PlanError(
            f"timeline {path} has schema version {version}, this release reads {SCHEMA_VERSION}; run "
            "`forescale replay` anew"
        )
    names, seeds = table["policy"].combine_chunks(), table["seed"].to_numpy()
    policy, known = names.indices.to_numpy(), names.dictionary.to_pylist()
    tracks = []
    for number, name in enumerate(known):
        for seed in np.unique(seeds[policy == number]).tolist():
            tracks.append(_read(table.filter(pa.array((policy == number) & (seeds == seed))), decided, name, seed))
    per_instance = {name: InstanceCost(**cost) for name, cost in head["per_instance"].items()}
    return Timeline(
        head["topology"],
        float(head["max_lag_s"]),
        tuple(tracks),
        tuple(head["notes"]),
        per_instance,
        float(head["allowed_share"]),
    )


def _read(rows: pa.Table, decided: pa.Table, policy: str, seed: int) -> Track:
    plan = rows["plan"].combine_chunks()
    own = np.array(decided["policy"].to_pylist(), dtype=object) == policy
    own = own & (decided["seed"].to_numpy() == seed) if own.size else np.zeros(0, dtype=np.bool_)

    def column(name: str) -> npt.NDArray[np.float64]:
        return np.asarray(rows[name].to_numpy())

    return Track(
        policy,
        seed,
        _seconds(rows["minute"]),
        column("arrivals_per_s"),
        plan.indices.to_numpy().astype(np.int64),
        tuple(json.loads(each) for each in plan.dictionary.to_pylist()),
        rows["instances"].to_numpy(),
        column("capacity_per_s"),
        column("backlog"),
        column("lag_s"),
        column("in_downtime"),
        column("utilisation"),
        rows["violation"].to_numpy(zero_copy_only=False),
        _taken(decided.filter(pa.array(own))),
    )


def _taken(rows: pa.Table) -> tuple[Taken, ...]:
    decided, effects = rows["decided_at"], rows["in_effect_at"]
    known = effects.is_valid().to_pylist()
    seconds = iter(_seconds(effects.drop_null()).tolist())
    in_effect = [next(seconds) if each else None for each in known]
    plans = [json.loads(each) for each in rows["plan"].to_pylist()]
    columns = zip(_seconds(decided).tolist(), in_effect, plans, rows["why"].to_pylist(), strict=True)
    return tuple(Taken(*each) for each in columns)


def _minutes(tracks: Sequence[Track]) -> pa.Table:
    tables = []
    for track in tracks:
        plans = pa.DictionaryArray.from_arrays(
            pa.array(track.plan, pa.int32()), pa.array([json.dumps(plan) for plan in track.plans])
        )
        policy = pa.DictionaryArray.from_arrays(
            pa.array(np.zeros(track.minute.size, np.int32)), pa.array([track.policy])
        )
        columns = [
            policy,
            pa.array(np.full(track.minute.size, track.seed, dtype=np.int64)),
            _moments(track.minute.tolist()),
            track.arrivals_per_s,
            plans,
            track.instances,
            track.capacity_per_s,
            track.backlog,
            track.lag_s,
            track.in_downtime,
            track.utilisation,
            track.violation,
        ]
        tables.append(pa.table([pa.array(each) for each in columns], schema=COLUMNS))
    return pa.concat_tables(tables).unify_dictionaries() if tables else COLUMNS.empty_table()


def _decisions(tracks: Sequence[Track]) -> pa.Table:
    rows = [(one, each) for one in tracks for each in one.decisions]
    columns = [
        pa.array([one.policy for one, _ in rows], pa.string()).dictionary_encode(),
        pa.array([one.seed for one, _ in rows], pa.int64()),
        _moments([each.decided_s for _, each in rows]),
        _moments([each.in_effect_s for _, each in rows]),
        pa.array([json.dumps(each.plan) for _, each in rows], pa.string()).dictionary_encode(),
        pa.array([each.why for _, each in rows], pa.string()),
    ]
    return pa.table(columns, schema=DECISIONS)


def _moments(epoch_s: Sequence[float | None]) -> pa.Array:
    return pa.array([None if each is None else round(each * 1000) for each in epoch_s], pa.int64()).cast(_MOMENT)


def _seconds(moments: pa.ChunkedArray) -> Floats:
    """Since the epoch."""
    return np.asarray(moments.cast(_MOMENT).cast(pa.int64()).to_numpy() / 1000.0, dtype=np.float64)
