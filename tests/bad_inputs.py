"""Bad inputs by kinds, for every command and option that takes such an input, as the commands themselves tell.

A new command or option is tried with every kind that fits it; where it needs a value that nobody knows here, GOOD must
name one.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import typer.main
from bad_kinds import FILE_KINDS, MOMENT_TEXTS, NUMBERS, OUTPUT_KINDS
from certain_forecast import record_certain_forecast
from forked_commands import Ending, ForkedCommands
from shadow_days import FIRST, MONDAY, install, rate_per_s

from forescale.cli.commands import every_command
from forescale.cli.main import application
from forescale.settings import Settings
from forescale.wiring.parts import clock_of, cluster_of, ledger_of, topology_config
from modeling.inputs.physical_plan import PhysicalPlan
from planner.ledger.entries import Outcome
from planner.scaling_schedule import ScalingSchedule, ScheduledStep

NAME = "pair"
LONG = {
    ("serve",): "reads no file of the user, and serves without end",
    ("demo",): "takes no input",
    ("up",): "takes no input, and serves without end",
}
"""Commands that are not tried, and why."""
OUTPUTS = {"out", "plot"}
"""Options that name a file to be written; any other path is read."""
LEFT_OUT = {"doctor --fleet", "metrics --fleet", "notify --fleet"}
"""Files that are only left out of a folder of topologies, unread."""
FILES = {"topology", "topologies", "profile"}
"""What is text to Typer, but may be the path of a file."""
MOMENTS = {"start", "end", "at"}

PLAN = "{topology: pair, parallelism: {read: 1, count: 8}}"
PROFILE = '{"schema_version": 2, "topology": "pair", "operators": {"count": {"service_s": 0.1, "samples": 3}}}'
SAMPLES = "operator,index,span_s,busy_s,backpressured_s,records_in\nread,0,60,1,0,600\ncount,0,60,30,0,300\n"
SITE = "containers: {cores: 4, memory_mib: 4096}\n"
FLEET = "quotas: {q: {topologies: [pair], instances: 20}}\n"
EVENTS = "events: [{label: fair, kind: promotion, date: 2026-03-03, time_zone: UTC}]\n"


@dataclass(frozen=True)
class Case:
    """One bad input. place: the command and option, or what is stored; prepare: makes the input in a folder of its own
    and gives the arguments; may_be_taken: whether an answer without an error is one as well.
    """

    kind: str
    place: str
    prepare: Callable[["Bench", Path], list[str]]
    environment: Mapping[str, str] = field(default_factory=dict)
    encoding: str = "utf-8"
    may_be_taken: bool = False

    def __str__(self) -> str:
        return f"{self.kind} as {self.place}"

    def run(self, bench: "Bench", commands: ForkedCommands, folder: Path) -> Ending:
        """In a folder of its own, and in a home of its own where something stored is damaged."""
        arguments = self.prepare(bench, folder)
        home = folder / "home"
        environment = bench.environment(home if home.exists() else None) | dict(self.environment)
        return commands.run(arguments, environment, folder, encoding=self.encoding)


@dataclass(frozen=True)
class Bench:
    """An installation with everything that a command may read; `folder` holds a good file of every kind."""

    folder: Path
    settings: Settings
    step_id: str
    schedule_id: str

    def environment(self, home: Path | None = None) -> dict[str, str]:
        return {
            "FORESCALE_HOME": str(home or self.settings.home),
            "FORESCALE_TOPOLOGIES": str(self.settings.topologies),
            "FORESCALE_MLRUNS": str(self.settings.mlruns),
            # Refused at once: MLflow itself takes seconds to import.
            "FORESCALE_MLFLOW_URI": "http://127.0.0.1:9",
            "FORESCALE_CLOCK": "trace",
        }

    def good(self, name: str) -> list[str]:
        """A value of each parameter that is required, or that a command needs to come to the others."""
        files = {
            "topology": NAME,
            "plan": str(self.folder / "plan.yaml"),
            "load": "read=10",
            "trace": str(self.folder / "trace.csv"),
            "out": str(self.folder / "written.parquet"),
            "samples": str(self.folder / "samples.csv"),
            "parallelism": "read=1,count=8",
            "schedule": self.schedule_id,
            "step": self.step_id,
            "run": "0123456789abcdef0123456789abcdef",
            "kind": "plan",
            "diagnosis": "backpressure",
            "action": "scale out",
            "url": "http://127.0.0.1:9",
        }
        return [files[name]]


def bench(folder: Path) -> Bench:
    """Made once; whoever damages what is stored copies its home."""
    settings = install(folder / "topologies", "act").model_copy(update={"mlruns": folder / "mlruns"})
    texts = {
        "plan.yaml": PLAN,
        "profile.json": PROFILE,
        "samples.csv": SAMPLES,
        "site.yaml": SITE,
        "fleet.yaml": FLEET,
        "events.yaml": EVENTS,
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    days = [MONDAY + timedelta(hours=hour) for hour in range(24 * 30)]
    rows = [f"{at:%Y-%m-%dT%H:%M:%SZ},{3600 * rate_per_s(at):.0f}" for at in days]
    (folder / "trace.csv").write_text("\n".join(["timestamp,count", *rows]) + "\n")
    mean = np.array([rate_per_s(FIRST + timedelta(minutes=15 * number)) for number in range(96)])
    record_certain_forecast(
        settings, NAME, mean, step_s=900, horizon_s=3600, issued_at=FIRST, trained_from=MONDAY - timedelta(days=2)
    )
    cluster_of(topology_config(NAME, settings), settings, clock_of(settings)).state()
    ledger = ledger_of(settings)
    before, after = PhysicalPlan(NAME, {"read": 1, "count": 8}), PhysicalPlan(NAME, {"read": 1, "count": 7})
    at, end = FIRST, FIRST + timedelta(days=1)
    step = ScheduledStep(at, at, at, end, after, before, {"read": 60.0}, "count", 0.8, 1.2, 30.0, 0.0, 24.0, "fewer do")
    made = ScalingSchedule(NAME, FIRST, FIRST, end, 0.95, before, (step,), 24.0, "fewer do")
    schedule_id = ledger.record_schedule(made, forecasts=[entry.id for entry in ledger.forecasts(NAME)])
    step_id = f"{schedule_id}-1"
    ledger.record_outcome(Outcome(step_id, FIRST, 30.0, {"downtime_s": 30.0}, {"downtime_s": 31.0}, 0))
    return Bench(folder, settings, step_id, schedule_id)


# What commands take


@dataclass(frozen=True)
class Parameter:
    """One of a command, as the command line spells it: no flag for an argument."""

    command: tuple[str, ...]
    name: str
    flag: str
    kind: str

    def __str__(self) -> str:
        return " ".join([*self.command, self.flag or self.name])


NEEDED = {
    ("model", "pack"): [["--parallelism", "parallelism"], ["--set=packer=round_robin"]],
    ("model", "calibrate"): [["--samples", "samples"], ["--out=trial.json"]],
    ("forecast", "backtest"): [["--origins=1"]],
    ("replay",): [["--policies=static-peak"], ["--workers=1"], ["--days=1"]],
    ("plan", "edit"): [["--plan=count=6"]],
    ("deploy", "now"): [["--set=count=8"]],
    ("init",): [["--flink=http://127.0.0.1:9"]],
}
"""What a command needs beside what it requires, and what makes it short."""


@cache
def commands() -> dict[tuple[str, ...], Any]:
    """Every command that answers, by its words."""
    found = {}
    for words in every_command():
        if words in LONG:
            continue
        command: Any = typer.main.get_command(application(*words))
        for word in words:
            command = command.commands[word]
        found[words] = command
    return found


def parameters() -> list[Parameter]:
    """Every parameter that takes a file, a number, a moment, or the name of a file to be written."""
    return [
        Parameter(words, str(each.name), _flag(each), kind)
        for words, command in commands().items()
        for each in command.params
        if (kind := _kind(each))
    ]


def _flag(parameter: Any) -> str:
    return max(parameter.opts, key=len) if parameter.param_type_name == "option" else ""


def _kind(parameter: Any) -> str:
    name, of = str(parameter.name), str(parameter.type_descriptor.annotation)
    if "Path" in of:
        return "output" if name in OUTPUTS else "file"
    if "int" in of or "float" in of:
        return "number"
    if name in FILES:
        return "file"
    return "moment" if name in MOMENTS else ""


def command_line(bench: Bench, parameter: Parameter, value: str) -> list[str]:
    """The command with this value for the parameter, and good ones for what it needs beside it."""
    command = commands()[parameter.command]
    options, arguments = list[str](), list[str]()
    for each in command.params:
        given = str(each.name) == parameter.name
        if not (given or each.required):
            continue
        values = [value] if given else bench.good(str(each.name))
        if _flag(each):
            options += [f"{_flag(each)}={one}" for one in values]
        else:
            arguments += values
    for flag, *named in NEEDED.get(parameter.command, []):
        if flag.partition("=")[0] != parameter.flag and flag not in options:
            options += [flag, *(one for name in named for one in bench.good(name))]
    if parameter.command == ("plan", "make"):
        if parameter.name in ("fleet", "workers"):
            options.append("--all")
        elif parameter.name != "topology":
            arguments = bench.good("topology")
    return [*parameter.command, *options, "--", *arguments] if arguments else [*parameter.command, *options]


# What is tried


def _ending(parameter: Parameter) -> str:
    if parameter.name == "plot":
        return ".html"
    return {"pack": ".yaml", "init": ".yaml", "calibrate": ".json"}.get(parameter.command[-1], ".parquet")


def given_cases() -> Iterator[Case]:
    """Bad values of every parameter."""
    for parameter in parameters():
        match parameter.kind:
            case "file":
                for kind, made in FILE_KINDS.items():
                    # A site of which nothing is said is one of which nothing is known.
                    nothing_said = parameter.name == "site" and kind == "an empty file"
                    made_here = parameter.name == "folder" and kind in ("no file", "a folder")
                    may_be_taken = nothing_said or made_here or str(parameter) in LEFT_OUT
                    yield Case(kind, str(parameter), _prepared(parameter, made), may_be_taken=may_be_taken)
            case "number":
                for value in NUMBERS:
                    yield Case(
                        f"{value[:40]!r}",
                        str(parameter),
                        _prepared(parameter, lambda folder, value=value: value),  # type: ignore[misc]
                        may_be_taken=True,
                    )
            case "moment":
                for value in MOMENT_TEXTS:
                    yield Case(
                        f"{value[:40]!r}",
                        str(parameter),
                        _prepared(parameter, lambda folder, value=value: value),  # type: ignore[misc]
                        may_be_taken=value == "",
                    )
            case "output":
                for kind, place in OUTPUT_KINDS.items():
                    ending = _ending(parameter)
                    yield Case(
                        kind,
                        str(parameter),
                        _prepared(parameter, lambda folder, place=place, ending=ending: place(folder, ending)),  # type: ignore[misc]
                    )


def _prepared(parameter: Parameter, made: Callable[[Path], str]) -> Callable[[Bench, Path], list[str]]:
    return lambda bench, folder: command_line(bench, parameter, made(folder))


def setting_cases() -> Iterator[Case]:
    """Bad values of every setting, at a command that reads settings and one that works with them."""
    bad = (
        "1e308",
        "nan",
        "-1",
        "",
        "{",
        "[1",
        "x" * 100_000,
        "http://[",
        "sqlite://",
        "/dev/full",
    )
    for name in Settings.model_fields:
        for value in bad:
            for words in (["config", "check"], ["plan", "list", NAME]):
                yield Case(
                    f"{value[:20]!r}",
                    f"FORESCALE_{name.upper()} of {' '.join(words)}",
                    lambda bench, folder, words=words: words,  # type: ignore[misc]
                    {f"FORESCALE_{name.upper()}": value},
                    may_be_taken=True,
                )


LENGTHY = {
    *(("forecast", word) for word in ("run", "pages", "backtest", "reproduce")),
    ("plan", "make"),
    ("replay",),
    ("history", "build"),
}


def terminal_cases() -> Iterator[Case]:
    """Every good command on a terminal that knows few characters, but for those that compute for long."""
    for words in sorted(commands().keys() - LENGTHY):
        for encoding in ("ascii", "latin-1"):
            yield Case(
                f"a terminal of {encoding}",
                " ".join(words),
                lambda bench, folder, words=words: command_line(bench, Parameter(words, "-", "-", ""), ""),  # type: ignore[misc]
                encoding=encoding,
                may_be_taken=True,
            )
