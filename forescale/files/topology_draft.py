"""A draft topology file for a running job: what its engine reports, with the evidence as comments.

What is unknown stands on a line marked TODO with the question to answer; the file is valid before all are answered.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml
from pydantic import BaseModel

from modeling.inputs.mixed_inputs import mixed_operators
from modeling.inputs.topology import Grouping, Operator, Stream, Topology
from planner.clusters.job_description import DescribedOperator, DescribedStream, DescribedTerm, JobDescription

TODO = "TODO"
ASSUMED_SERVICE_S = 0.001
_WIDTH = 118


@dataclass(frozen=True)
class DraftSection:
    """A section that the engine or other servers fill. section: None if nothing fits. remarks: the evidence. question:
    what a person must answer, empty if nothing is open. example: lines to adapt, as comments.
    """

    section: BaseModel | None
    remarks: Sequence[str] = ()
    question: str = ""
    example: Sequence[str] = ()


def topology_draft(name: str, job: JobDescription, arrivals: DraftSection, cluster: DraftSection, origin: str) -> str:
    """The text of the file. origin: author and time, for its first line.

    Raises ModelError if the job has a cycle.
    """
    topology = Topology(
        name,
        tuple(Operator(each.name, each.max_parallelism or 128) for each in job.operators),
        tuple(Stream(each.upstream, each.downstream, each.grouping, each.label) for each in job.streams),
        job.engine,
    )
    by_name = {each.name: each for each in job.operators}
    mixed = mixed_operators(topology)
    running = ", ".join(f"{each} {by_name[each].parallelism}" for each in topology.order)
    lines = [
        *_comment(origin),
        *_comment(f"Lines with {TODO} hold an open question; their value is assumed."),
        f"topology: {_scalar(name)}",
        f"engine: {job.engine}",
        "",
        *_comment(f"It runs as {running} ({job.state}).{_ends(job)}"),
        *_comment("service_s: busy seconds of one instance per tuple, until `forescale model calibrate` measures it."),
        "operators:",
        *(line for each in topology.order for line in _operator(by_name[each])),
        "",
        *_comment(
            "selectivity: tuples out on the stream per tuple into the operator that it leaves (a source: per arrival)."
        ),
        *_open_streams(job),
        f"streams:{'' if job.streams else ' []'}",
        *(line for each in job.streams for line in _stream(each, mixed, leaves_a_source=each.upstream in job.sources)),
        "",
        *_section("arrivals", arrivals),
        "",
        *_sources(job),
        *_planning(job),
        "",
        *_packing(job),
        *_section("cluster", cluster),
    ]
    return "\n".join(lines) + "\n"


def open_questions(text: str) -> list[tuple[int, str]]:
    """Line number and question of each marked line."""
    marked = ((number, line.partition(f"{TODO}: ")) for number, line in enumerate(text.splitlines(), 1))
    return [(number, question) for number, (_, mark, question) in marked if mark]


def _ends(job: JobDescription) -> str:
    if job.streams_question:
        return ""
    return f" Sources: {', '.join(job.sources)}. Sinks: {', '.join(job.sinks)}."


def _open_streams(job: JobDescription) -> list[str]:
    """If streams are unknown: the question, and example lines for the answer."""
    if not job.streams_question:
        return []
    first, second, *_ = [each.name for each in job.operators]
    example = {"from": first, "to": second, "grouping": str(Grouping.SHUFFLE), "selectivity": 1.0}
    return [_todo(job.streams_question), "# streams:", f"#   - {_flow(example)}"]


def _sources(job: JobDescription) -> list[str]:
    known = (
        {} if job.streams_question else {name: job.partitions[name] for name in job.sources if name in job.partitions}
    )
    example = "sources:" if known else "# sources: {NAME: {timezone: Europe/Berlin}}"
    remarks = ["timezone: the time zone that days and weeks of a source follow, such as Europe/Berlin; UTC if absent."]
    remarks += ["partitions: of what the source reads; instances beyond them would stay idle."] if known else []
    return [
        *(line for remark in remarks for line in _comment(remark)),
        example,
        *(f"  {_scalar(source)}: {_flow({'partitions': count})}" for source, count in known.items()),
        "",
    ]


def _operator(each: DescribedOperator) -> list[str]:
    fields: dict[str, Any] = {"service_s": ASSUMED_SERVICE_S if each.service_s is None else _rounded(each.service_s)}
    if each.max_parallelism is not None:
        fields["max_parallelism"] = each.max_parallelism
    if each.cores is not None:
        fields["cores"] = _rounded(each.cores)
    if each.memory_mib is not None:
        fields["memory_mib"] = _rounded(each.memory_mib)
    questions = [each.question] if each.question else []
    if each.service_s is None:
        questions.append(
            "how long is one instance busy with one tuple? Calibration measures it if the engine reports it"
        )
    return _entry(f"  {_scalar(each.name)}: {_flow(fields)}", each.evidence, questions, "    ")


def _stream(each: DescribedStream, mixed: Mapping[str, Sequence[str]], *, leaves_a_source: bool) -> list[str]:
    """mixed: by operator whose inputs change their mix, these."""
    fields: dict[str, Any] = {"from": each.upstream, "to": each.downstream, "grouping": str(each.grouping)}
    if each.label:
        fields["label"] = each.label
    fields["selectivity"] = 1.0 if each.selectivity is None else _rounded(each.selectivity)
    questions = [each.question] if each.question else []
    if each.selectivity is None and leaves_a_source:
        questions.append(
            "how many tuples does the source emit per arrival? One is assumed; calibration measures it if the engine "
            "counts what the source takes in"
        )
    elif each.selectivity is None:
        questions.append("how many tuples out per tuple in? Calibration measures it")
    if each.upstream in mixed:
        inputs = " and ".join(mixed[each.upstream])
        questions.append(
            f"does {each.upstream} make as many for each tuple of {inputs}? One ratio holds for one mix of them; "
            "`forescale model calibrate` tells them apart once it has seen another mix"
        )
    return _entry(f"  - {_flow(fields)}", each.evidence, questions, "    ")


def _entry(line: str, evidence: str, questions: Iterable[str], indent: str) -> list[str]:
    return [line + (f" # {_one_line(evidence)}" if evidence else ""), *(_todo(each, indent) for each in questions)]


def _todo(question: str, indent: str = "") -> str:
    """On one line, so that `open_questions` finds all of it."""
    return f"{indent}# {TODO}: {_one_line(question)}"


def _planning(job: JobDescription) -> list[str]:
    """Targets are for people to set: the defaults, except for limits of the cluster."""
    lines = [
        *_comment("Targets, cost of a rescale, and limits; docs/planning.md has the defaults of the other fields."),
        "planning:",
        "  max_lag_s: 180",
        _todo("how old may waiting tuples become at the sources? 180 s is assumed", "  "),
    ]
    for each in job.terms:
        questions = [each.question] if each.question else []
        lines += _entry(f"  {each.name}: {_scalar(_within_partitions(each, job))}", each.evidence, questions, "  ")
    return lines


def _packing(job: JobDescription) -> list[str]:
    """Containers whose cores bound what their instances do together."""
    if (of := job.containers) is None:
        return []
    fields: dict[str, Any] = {"packer": of.packer, "cores": _rounded(of.cores), "price_per_hour": 1, "slots": of.slots}
    if of.slot_groups:
        fields["slot_groups"] = dict(of.slot_groups)
    return [
        *_comment(f"cores: of one container, shared by its instances; {of.evidence}."),
        *_comment("price_per_hour: plans count containers, and operators that share slots have as many instances."),
        "packing:",
        *_block(fields),
        "",
    ]


def _within_partitions(term: DescribedTerm, job: JobDescription) -> str | float | Mapping[str, int]:
    """The value of a term; instances of a source are limited to its partitions."""
    if term.name != "max_parallelism" or not isinstance(term.value, Mapping):
        return term.value
    return {name: min(most, job.partitions.get(name, most)) for name, most in term.value.items()}


def _section(name: str, draft: DraftSection) -> list[str]:
    remarks = [part for remark in draft.remarks for part in _comment(remark)]
    remarks += [_todo(draft.question)] if draft.question else []
    remarks += [f"# {line}" for line in draft.example]
    if draft.section is None:
        return remarks
    given = draft.section.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return [*remarks, f"{name}:", *_block({key: value for key, value in given.items() if value not in ({}, None)})]


def _block(fields: Mapping[str, Any]) -> list[str]:
    return [
        f"  {key}: {_flow(value) if isinstance(value, dict | list) else _scalar(value)}"
        for key, value in fields.items()
    ]


def _flow(value: Any) -> str:
    """YAML on one line."""
    return yaml.safe_dump(
        value, default_flow_style=True, sort_keys=False, allow_unicode=True, width=float("inf")
    ).strip()


def _scalar(value: object) -> str:
    return _flow(value).removesuffix("...").strip()


def _rounded(number: float) -> float:
    """To four digits: nothing here is known more precisely."""
    return float(f"{number:.4g}")


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _comment(text: str, indent: str = "") -> list[str]:
    """Lines of a folded comment."""
    lines: list[str] = []
    for word in _one_line(text).split(" "):
        if lines and len(lines[-1]) + 1 + len(word) <= _WIDTH:
            lines[-1] += f" {word}"
        else:
            lines.append(f"{indent}# {word}")
    return lines
