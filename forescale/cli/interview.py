"""A job described by answers on a terminal: for engines without an interface, and for what an interface omits."""

from dataclasses import replace

import typer

from forescale.plain_numbers import is_plain, typed_count
from forescale.wiring.engines.engine import DescribedJob
from modeling.inputs.topology import Engine, Grouping
from planner.clusters.job_description import DescribedOperator, DescribedStream, JobDescription, topology_name

_ANSWERED = "as answered"
MAX_INSTANCES = 32768
"""Flink's limit."""


def interview(name: str | None) -> DescribedJob:
    """Ask for operators and streams, one after the other; wrong answers are asked for again."""
    name = topology_name(name or typer.prompt("Name of the topology", err=True))
    engine = Engine(_choice("Engine", [str(each) for each in Engine], str(Engine.FLINK)))
    operators: dict[str, DescribedOperator] = {}
    while True:
        operator = typer.prompt("Operator (empty when all are named)", default="", show_default=False, err=True).strip()
        if not operator and operators:
            break
        if not operator or operator in operators:
            typer.echo("give each operator a name of its own, and at least one", err=True)
            continue
        parallelism = typer.prompt(f"  instances of {operator} now", default="1", value_proc=_at_least_1, err=True)
        most = typer.prompt(
            f"  maximum number of instances of {operator}", default="128", value_proc=_at_least_1, err=True
        )
        operators[operator] = DescribedOperator(operator, operator, parallelism, most, _service_s(operator), _ANSWERED)
    streams = [stream for name_ in operators for stream in _streams_into(name_, list(operators))]
    job = JobDescription(name, engine, "answers on a terminal", False, "as answered", list(operators.values()), streams)
    return DescribedJob(job)


def completed(described: DescribedJob) -> DescribedJob:
    """Ask for what the engine does not report: service times, and streams where it knows none."""
    job = described.job
    for known in job.feeds.values():
        typer.echo(known.evidence, err=True)
    operators = [each if each.service_s is not None else _timed(each) for each in job.operators]
    streams, question = job.streams, job.streams_question
    if question:
        names = [each.name for each in operators]
        streams, question = [stream for name in names for stream in _streams_into(name, names)], ""
    return replace(described, job=replace(job, operators=operators, streams=streams, streams_question=question))


def _timed(each: DescribedOperator) -> DescribedOperator:
    service_s = _service_s(each.name)
    if service_s is None:
        return each
    return replace(each, service_s=service_s, evidence=f"{each.evidence}; service_s {_ANSWERED}")


def _service_s(operator: str) -> float | None:
    """None if unknown."""
    busy_ms = typer.prompt(
        f"  milliseconds that one instance of {operator} is busy with a tuple (empty: not known)",
        default="",
        show_default=False,
        value_proc=_milliseconds,
        err=True,
    )
    return None if busy_ms is None else busy_ms / 1000


def _streams_into(operator: str, known: list[str]) -> list[DescribedStream]:
    """Ask which operators this one reads."""
    while True:
        read = typer.prompt(
            f"Operators that {operator} reads, with commas (empty for a source)",
            default="",
            show_default=False,
            err=True,
        )
        names = [each.strip() for each in read.split(",") if each.strip()]
        unknown = [each for each in names if each not in known or each == operator]
        if not unknown and len(set(names)) == len(names):
            break
        typer.echo(f"{', '.join(unknown) or read}: name each once, of {', '.join(known)}", err=True)
    groupings = [str(each) for each in Grouping]
    return [
        DescribedStream(
            upstream,
            operator,
            Grouping(_choice(f"  grouping of {upstream}->{operator}", groupings, str(Grouping.SHUFFLE))),
            "",
            None,
            _ANSWERED,
        )
        for upstream in names
    ]


def _choice(question: str, choices: list[str], default: str) -> str:
    while True:
        answer: str = typer.prompt(f"{question} ({', '.join(choices)})", default=default, err=True).strip()
        if answer in choices:
            return answer
        typer.echo(f"{answer} is none of {', '.join(choices)}", err=True)


def _at_least_1(answer: str) -> int:
    count = typed_count(answer.strip())
    if count is None or not 1 <= count <= MAX_INSTANCES:
        raise typer.BadParameter(f"{answer} is no whole number from 1 to {MAX_INSTANCES}")
    return count


def _milliseconds(answer: str) -> float | None:
    """None if unknown."""
    if not answer.strip():
        return None
    try:
        number = float(answer) if is_plain(answer) else -1.0
    except ValueError:
        number = -1.0
    if not 0 <= number < 1e9:
        raise typer.BadParameter(f"{answer} is no number of milliseconds")
    return number
