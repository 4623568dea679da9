"""A draft topology file for a running job: what its engine reports, with the evidence as comments.

What is unknown stands on a line marked TODO with the question to answer; the file is valid before all are answered.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
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
class OpenQuestion:
    """text: for a person. operator, measured_by: whose calibrated parameters answer it, any of them, by their names in
    a profile's `intervals`; none if only a person can. indent: in the file, before it. line: there, counted from 1.
    """

    text: str
    operator: str = ""
    measured_by: Collection[str] = ()
    indent: str = ""
    line: int = 0

    def __str__(self) -> str:
        unless = " unless `forescale model calibrate` measures it" if self.measured_by else ""
        return f"{self.indent}# {TODO}{unless}: {_one_line(self.text)}"


@dataclass(frozen=True)
class TopologyDraft:
    """A file's text, and the questions open in it."""

    text: str
    questions: Sequence[OpenQuestion]


@dataclass(frozen=True)
class DraftSection:
    """A section that the engine or other servers fill. section: None if nothing fits. remarks: the evidence. question:
    what a person must answer, empty if nothing is open. example: lines to adapt, as comments.
    """

    section: BaseModel | None
    remarks: Sequence[str] = ()
    question: str = ""
    example: Sequence[str] = ()


_Line = str | OpenQuestion


def topology_draft(
    name: str, job: JobDescription, arrivals: DraftSection, cluster: DraftSection, origin: str
) -> TopologyDraft:
    """The file and its questions. origin: author and time, for its first line.

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
    lines: list[_Line] = [
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
    begins = accumulate((str(line).count("\n") + 1 for line in lines), initial=1)
    questions = [replace(each, line=at) for at, each in zip(begins, lines, strict=False) if not isinstance(each, str)]
    return TopologyDraft("\n".join(map(str, lines)) + "\n", questions)


def _ends(job: JobDescription) -> str:
    if job.streams_question:
        return ""
    return f" Sources: {', '.join(job.sources)}. Sinks: {', '.join(job.sinks)}."


def _open_streams(job: JobDescription) -> list[_Line]:
    """If streams are unknown: the question, and example lines for the answer."""
    if not job.streams_question:
        return []
    first, second, *_ = [each.name for each in job.operators]
    example = {"from": first, "to": second, "grouping": str(Grouping.SHUFFLE), "selectivity": 1.0}
    return [OpenQuestion(job.streams_question), "# streams:", f"#   - {_flow(example)}"]


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


def _operator(each: DescribedOperator) -> list[_Line]:
    fields: dict[str, Any] = {"service_s": ASSUMED_SERVICE_S if each.service_s is None else _rounded(each.service_s)}
    if each.max_parallelism is not None:
        fields["max_parallelism"] = each.max_parallelism
    if each.cores is not None:
        fields["cores"] = _rounded(each.cores)
    if each.memory_mib is not None:
        fields["memory_mib"] = _rounded(each.memory_mib)
    questions = [OpenQuestion(each.question)] if each.question else []
    if each.service_s is None:
        questions.append(OpenQuestion("how long is one instance busy with one tuple?", each.name, ["service_s"]))
    return _entry(f"  {_scalar(each.name)}: {_flow(fields)}", each.evidence, questions, "    ")


def _stream(each: DescribedStream, mixed: Mapping[str, Sequence[str]], *, leaves_a_source: bool) -> list[_Line]:
    """mixed: by operator whose inputs change their mix, these."""
    name = Stream(each.upstream, each.downstream, each.grouping, each.label).name
    fields: dict[str, Any] = {"from": each.upstream, "to": each.downstream, "grouping": str(each.grouping)}
    if each.label:
        fields["label"] = each.label
    fields["selectivity"] = 1.0 if each.selectivity is None else _rounded(each.selectivity)
    questions = [OpenQuestion(each.question)] if each.question else []
    if each.selectivity is None:
        what = "does the source emit per arrival" if leaves_a_source else "out per tuple in"
        questions.append(
            OpenQuestion(f"how many tuples {what}? One is assumed", each.upstream, [f"selectivity[{name}]"])
        )
    if each.upstream in mixed:
        inputs = mixed[each.upstream]
        text = (
            f"does {each.upstream} make as many for each tuple of {' and '.join(inputs)}? One ratio holds for one mix "
            "of them; another mix tells them apart"
        )
        apart = [f"input_selectivity[{name}][{of_input}]" for of_input in inputs]
        questions.append(OpenQuestion(text, each.upstream, apart))
    return _entry(f"  - {_flow(fields)}", each.evidence, questions, "    ")


def _entry(line: str, evidence: str, questions: Iterable[OpenQuestion], indent: str) -> list[_Line]:
    told = line + (f" # {_one_line(evidence)}" if evidence else "")
    return [told, *(replace(each, indent=indent) for each in questions)]


def _planning(job: JobDescription) -> list[_Line]:
    """Targets are for people to set: the defaults, except for limits of the cluster."""
    lines: list[_Line] = [
        *_comment("Targets, cost of a rescale, and limits; docs/planning.md has the defaults of the other fields."),
        "planning:",
        "  max_lag_s: 180",
        OpenQuestion("how old may waiting tuples become at the sources? 180 s is assumed", indent="  "),
    ]
    for each in job.terms:
        questions = [OpenQuestion(each.question)] if each.question else []
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


def _section(name: str, draft: DraftSection) -> list[_Line]:
    remarks: list[_Line] = [part for remark in draft.remarks for part in _comment(remark)]
    remarks += [OpenQuestion(draft.question)] if draft.question else []
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
