"""Operator samples as a CSV or JSON file, for engines that forescale does not read: see docs/topology-file.md."""

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from forecasting.bounded_file import bounded_text
from forescale.files.bounded_numbers import MAX_MEASURED
from forescale.files.file_error import FileError, field_errors
from forescale.files.json_keys import unique_keys
from forescale.plain_numbers import is_plain
from modeling.calibration.operator_sample import OperatorSample, TaskBeside
from modeling.calibration.sifting import tuples_seen
from modeling.errors import ModelError
from modeling.inputs.operator_profile import Feature
from modeling.inputs.topology import Topology
from modeling.wording import count_of

MAX_BUSY = 1.5
"""Bound on (busy + backpressured seconds) / span: anything above is in another unit, not a measurement."""

MAX_BY_INPUT = 1.01
"""Bound on (sum over inputs) / total: rounding explains 1 %, more means that the two do not belong together."""

MAX_INSTANCES = 2**31
"""Bound of an instance's index, above any engine's numbering."""

PER_STREAM = {"records_out": "records_out", "records_in": "records_in_by", "busy_s": "busy_s_by"}
"""CSV columns whose name ends in a colon and a stream, such as `records_out:a->b`, and their fields."""

WHOLE = ("index", "parallelism", "threads")
TEXTS = ("operator", "container")

NotNegative = Annotated[float, Field(ge=0, le=MAX_MEASURED)]


class _TaskBesideEntry(BaseModel):
    """What a task of another job in the same container did over the span; name and index tell which it is."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, strict=True)
    name: Annotated[str, Field(min_length=1, max_length=200)]
    index: Annotated[int, Field(ge=0, lt=MAX_INSTANCES)]
    busy_s: NotNegative
    backpressured_s: NotNegative
    tuples: NotNegative


class _SampleEntry(BaseModel):
    """What one instance did over a span. index: counts from 0 within the operator. Unknown values are left out."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, strict=True)
    operator: str
    index: Annotated[int, Field(ge=0, lt=MAX_INSTANCES)]
    span_s: Annotated[float, Field(gt=0, le=MAX_MEASURED)]
    busy_s: NotNegative
    backpressured_s: NotNegative
    records_in: NotNegative
    records_out: dict[str, NotNegative] = {}
    began_s: Annotated[float, Field(ge=-MAX_MEASURED, le=MAX_MEASURED)] | None = None
    age_s: NotNegative | None = None
    records_in_by: dict[str, NotNegative] = {}
    busy_s_by: dict[str, NotNegative] = {}
    service_second_moment_s2: NotNegative | None = None
    parallelism: Annotated[int, Field(ge=1, le=MAX_INSTANCES)] | None = None
    cpu_s: NotNegative | None = None
    memory_mib: NotNegative | None = None
    gc_s: NotNegative | None = None
    gc_pauses: NotNegative | None = None
    features: Annotated[tuple[Annotated[Feature, Field(strict=False)], ...], Field(strict=False)] = ()
    state_gib: NotNegative | None = None
    threads: Annotated[int, Field(ge=1, le=MAX_INSTANCES)] | None = None
    container: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    container_cpu_s: NotNegative | None = None
    container_cores: Annotated[float, Field(gt=0, le=MAX_MEASURED)] | None = None
    arrivals: NotNegative | None = None
    beside: Annotated[tuple[_TaskBesideEntry, ...], Field(strict=False)] = ()


REQUIRED = tuple(name for name, field in _SampleEntry.model_fields.items() if field.is_required())
OPTIONAL = tuple(name for name, field in _SampleEntry.model_fields.items() if field.default is None)
"""Optional CSV columns; counts by stream have their own columns."""


class SamplesEntry(BaseModel):
    """Samples of the instances of a topology: seconds, counts of tuples per stream (`a->b`), MiB and GiB."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, strict=True)
    topology: str
    samples: list[_SampleEntry]


def read_sample_file(path: Path, topology: Topology) -> list[OperatorSample]:
    """Samples of a topology; a file that ends in .json is JSON, any other is CSV.

    Raises FileError naming file, line (CSV) or entry (JSON), field, value and remedy.
    """
    try:
        text = bounded_text(path)
    except UnicodeDecodeError as error:
        raise FileError(
            f"{path}: byte {error.start} is not UTF-8; save the file as text in UTF-8 (compressed files unpacked)"
        ) from None
    except OSError as error:
        raise FileError(f"sample file {path} cannot be read: {error.strerror or error}; check the path") from None
    if not text.strip():
        raise FileError(f"{path} is empty; give a sample of every instance")
    placed = list(_of_json(path, text, topology) if path.suffix.lower() == ".json" else _of_csv(path, text))
    if not placed:
        raise FileError(f"{path} holds no samples; give one of every instance")
    return _checked(path, placed, topology)


PlacedSample = tuple[str, OperatorSample]
"""A sample's place in the file, and the sample."""


def _of_json(path: Path, text: str, topology: Topology) -> Iterator[PlacedSample]:
    def refused(constant: str) -> float:
        raise FileError(f"{path} holds {constant}, which is no number; drop the sample, or give a finite number")

    try:
        # Not by pydantic: it accepts NaN, which is not JSON, and does not say on which line an error is.
        body = json.loads(text, parse_constant=refused, object_pairs_hook=unique_keys)
    except FileError:
        raise
    except (ValueError, RecursionError) as error:
        raise FileError(f"{path} is not JSON: {error}; give a CSV file a name without .json") from None
    with field_errors(path, "; see docs/topology-file.md"):
        entry = SamplesEntry.model_validate(body)
    if entry.topology != topology.name:
        raise FileError(f"{path}: topology: {entry.topology!r} is not {topology.name!r}; give samples of this topology")
    for number, sample in enumerate(entry.samples):
        beside = tuple(TaskBeside(**task.model_dump()) for task in sample.beside)
        yield f"samples.{number}", OperatorSample(**sample.model_dump() | {"beside": beside})


def _of_csv(path: Path, text: str) -> Iterator[PlacedSample]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = [name.strip() for name in next(reader)]
        _check_header(path, header)
        for row in reader:
            line = f"line {reader.line_num}"
            if not any(cell.strip() for cell in row):
                continue
            if len(row) != len(header):
                raise FileError(f"{path}: {line}: {len(row)} cells under {len(header)} columns; fill or cut the row")
            yield line, _of_row(f"{path}: {line}", dict(zip(header, (cell.strip() for cell in row), strict=True)))
    except csv.Error as error:
        raise FileError(f"{path}: line {reader.line_num} is not CSV: {error}; separate cells by commas") from None


def _check_header(path: Path, header: Sequence[str]) -> None:
    if lacking := [name for name in REQUIRED if name not in header]:
        raise FileError(
            f"{path}: line 1: column {lacking[0]} is missing (columns: {', '.join(header)[:200]}); add it, separated "
            "by commas"
        )
    for name in header:
        kind, colon, stream = name.partition(":")
        if name not in (*REQUIRED, *OPTIONAL) and not (colon and stream and kind in PER_STREAM):
            raise FileError(
                f"{path}: line 1: {name!r} is no column; known are {', '.join((*REQUIRED, *OPTIONAL))}, and for each "
                f"stream {', '.join(f'{kind}:a->b' for kind in PER_STREAM)}"
            )
        if header.count(name) > 1:
            raise FileError(f"{path}: line 1: column {name} is given twice; keep one of them")


def _of_row(where: str, cells: Mapping[str, str]) -> OperatorSample:
    numbers: dict[str, float | int] = {}
    streams: dict[str, dict[str, float]] = {field: {} for field in PER_STREAM.values()}
    for name, cell in cells.items():
        kind, colon, stream = name.partition(":")
        if name in TEXTS or (not cell and name not in REQUIRED):
            continue
        number = _number(f"{where}: {name}", cell, signed=name == "began_s")
        if colon and number <= MAX_MEASURED:
            streams[PER_STREAM[kind]][stream] = number
        elif name in WHOLE:
            if not number.is_integer():
                raise FileError(f"{where}: {name}: {cell!r} is not a whole number; give one")
            if number > MAX_INSTANCES:
                raise FileError(f"{where}: {name}: {cell} is above {MAX_INSTANCES}; correct it")
            numbers[name] = int(number)
        elif abs(number) > MAX_MEASURED:
            raise FileError(f"{where}: {name}: {cell} is beyond {MAX_MEASURED:g}; correct it")
        else:
            numbers[name] = number
    try:
        return OperatorSample(cells["operator"], **numbers, **streams, container=cells.get("container") or None)  # type: ignore[arg-type]
    except ModelError as error:
        raise FileError(f"{where}: {error}") from None


def _number(where: str, cell: str, *, signed: bool) -> float:
    try:
        if not is_plain(cell):
            raise ValueError
        number = float(cell)
    except ValueError:
        raise FileError(f"{where}: {cell!r} is not a number; give one with a decimal point, and no unit") from None
    if not math.isfinite(number):
        raise FileError(f"{where}: {cell!r} is not finite; drop the row, or give a finite number")
    if number < 0 and not signed:
        raise FileError(f"{where}: {cell} is below 0; drop the row, or correct it")
    return number


def _checked(path: Path, placed: Sequence[PlacedSample], topology: Topology) -> list[OperatorSample]:
    known = {operator.name for operator in topology.operators}
    streams = {stream.name for stream in topology.streams}
    most = {operator.name: operator.max_parallelism for operator in topology.operators}
    seen: dict[tuple[object, ...], str] = {}
    checked = []
    for place, sample in placed:
        where = f"{path}: {place}"
        if sample.operator not in known:
            raise FileError(
                f"{where}: operator: {sample.operator!r} is not in topology {topology.name!r}; known are "
                f"{', '.join(sorted(known))}"
            )
        entering = {stream.name for stream in topology.inputs(sample.operator)}
        leaving = {stream.name for stream in topology.outputs(sample.operator)}
        ends = {"records_out": leaving, "records_in_by": entering, "busy_s_by": entering}
        for field, allowed in ends.items():
            for stream, number in getattr(sample, field).items():
                # A CSV column exists for all rows: a count of zero there means nothing.
                if stream not in streams or (stream not in allowed and number > 0):
                    raise FileError(
                        f"{where}: {field}: {stream!r} is no stream that "
                        f"{'leaves' if field == 'records_out' else 'enters'} {sample.operator!r}; those are "
                        f"{', '.join(sorted(allowed)) or 'none'}"
                    )
        _check_instance(where, sample, most[sample.operator])
        spent_s = sample.busy_s + sample.backpressured_s
        if spent_s > MAX_BUSY * sample.span_s:
            raise FileError(
                f"{where}: busy_s + backpressured_s: {spent_s:g} s in a span of {sample.span_s:g} s; give seconds of "
                "one instance"
            )
        by_input = {"records_in": sample.records_in_by, "busy_s": sample.busy_s_by}
        for field, parts in by_input.items():
            together, whole = sum(parts.values()), getattr(sample, field)
            if together > MAX_BY_INPUT * whole:
                raise FileError(
                    f"{where}: {field}_by: {together:g} of all inputs together, more than {field} of {whole:g}; give "
                    f"parts of {field}"
                )
        timed = sample.began_s is not None
        same = (sample.operator, sample.index, sample.began_s) if timed else _all_of(sample)
        # An instance may be idle in two spans.
        if same in seen and (timed or tuples_seen(sample)):
            which = f"for the span that began at {sample.began_s:g} s" if timed else "with the same numbers"
            more = "" if timed else ", or give began_s for both"
            raise FileError(
                f"{where}: instance {sample.index} of {sample.operator!r} is given twice {which} "
                f"(before: {seen[same]}); keep one of them{more}"
            )
        seen[same] = place
        checked.append(
            replace(sample, **{field: _of(getattr(sample, field), allowed) for field, allowed in ends.items()})  # type: ignore[arg-type]
        )
    return checked


def _check_instance(where: str, sample: OperatorSample, max_parallelism: int) -> None:
    """max_parallelism: of the operator."""
    if sample.parallelism is not None and not 1 <= sample.parallelism <= max_parallelism:
        raise FileError(
            f"{where}: parallelism: {sample.parallelism} of {sample.operator!r}, which runs as 1 to "
            f"{count_of(max_parallelism, 'instance')}; "
            "correct it, or max_parallelism in the topology file"
        )
    if sample.index >= (sample.parallelism or max_parallelism):
        with_so_many = (
            f"a max_parallelism of {max_parallelism}"
            if sample.parallelism is None
            else f"a parallelism of {sample.parallelism}"
        )
        raise FileError(f"{where}: index: {sample.index} with {with_so_many}; count instances from 0")


def _all_of(sample: OperatorSample) -> tuple[object, ...]:
    return tuple(
        tuple(sorted(value.items())) if isinstance(value, Mapping) else value for value in vars(sample).values()
    )


def _of(counts: Mapping[str, float], allowed: Iterable[str]) -> dict[str, float]:
    return {stream: count for stream, count in counts.items() if stream in allowed}
