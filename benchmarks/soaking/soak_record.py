"""A soak's record of its hours, in a file from which it can go on, and the figures that it prints."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from reckoning import Hour, Reckoning, Span
from roles import DEFECT, Answer

HELD = "held"
NOTHING = Reckoning(0, 0, (), ())


@dataclass(frozen=True)
class Survived:
    """kind: of a fault. again: whether every topology got a decision in the first fault-free hour after it."""

    kind: str
    again: bool


@dataclass
class Record:
    """peaks_mib: peak memory of a job, by day; guard_mib: peak memory of a guard (one process for the whole run), by
    day. sizes: MiB of what grows, at the end of each day. errors: how often each kind of fault stopped a stage.
    peaceful: errors of hours without a fault. wall_s: latest wall time of some jobs. open_faults: kinds and hours of
    faults that no fault-free hour has followed yet.
    """

    path: Path
    hours: list[Hour] = field(default_factory=list)
    hindered: list[Span] = field(default_factory=list)
    places: Reckoning = NOTHING
    faults: list[Survived] = field(default_factory=list)
    open_faults: list[tuple[str, int]] = field(default_factory=list)
    peaks_mib: dict[int, float] = field(default_factory=dict)
    guard_mib: dict[int, float] = field(default_factory=dict)
    sizes: dict[str, list[float]] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)
    peaceful: list[str] = field(default_factory=list)
    defects: list[str] = field(default_factory=list)
    cpu_s: float = 0.0
    wall_s: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, path: Path) -> "Record":
        return TypeAdapter(cls).validate_json(path.read_bytes()) if path.exists() else cls(path)

    def write(self) -> None:
        new = self.path.with_suffix(".new")
        new.write_bytes(TypeAdapter(type(self)).dump_json(self))
        new.replace(self.path)

    def note(self, answer: Answer, kind: str, day: int, *, of_guard: bool) -> None:
        """Record a job's answer. kind: of the current fault, empty without one."""
        self.cpu_s += answer.cpu_s
        peaks = self.guard_mib if of_guard else self.peaks_mib
        peaks[day] = max(peaks.get(day, 0.0), answer.role_mib if of_guard else answer.peak_mib)
        for stage, why in answer.errors.items():
            if stage.startswith(HELD):
                continue
            told = f"{kind or 'peace'}: {stage.split()[0]}: {why.partition(':')[0]}"
            self.errors[told] = self.errors.get(told, 0) + 1
            if DEFECT in why:
                self.defects.append(f"{kind}: {stage}: {why}")
            elif not kind:
                self.peaceful.append(f"{stage}: {why}")

    def figures(self, result: Reckoning, topologies: int, days: int, *, limited: bool) -> dict[str, Any]:
        injected, survived = Counter(each.kind for each in self.faults), Counter(f.kind for f in self.faults if f.again)
        return {
            "topologies": topologies,
            "days": days,
            "hours": len(self.hours),
            "faults": {kind: {"injected": count, "survived": survived[kind]} for kind, count in injected.items()},
            "disk_of_its_own": limited,
            "decisions": result.decisions,
            "steps": result.steps,
            "lost": list(result.lost),
            "doubled": list(result.doubled),
            "stopped": list(result.stopped),
            "internal_errors": self.defects,
            "errors": self.errors,
            "errors_in_peace": self.peaceful,
            "peak_mib_by_day": list(self.peaks_mib.values()),
            "guard_mib_by_day": list(self.guard_mib.values()),
            "size_mib_by_day": self.sizes,
            "cpu_s": self.cpu_s,
        }


def shown(figures: Mapping[str, Any]) -> str:
    """The figures as a Markdown table, and what went wrong."""
    lines = ["| fault | injected | survived |", "|---|---|---|"]
    lines += [f"| {kind} | {each['injected']} | {each['survived']} |" for kind, each in figures["faults"].items()]
    if not figures["disk_of_its_own"]:
        lines.append("| disk full | 0: needs root, for a file system of its own | |")
    lost, doubled, stopped = (len(figures[name]) for name in ("lost", "doubled", "stopped"))
    lines += ["", f"{figures['topologies']} topologies, {figures['hours']} hours, {figures['cpu_s']:.0f} CPU s of jobs"]
    lines.append(f"{figures['decisions']} decisions and {figures['steps']} steps due: {lost} lost, {doubled} doubled")
    lines.append(f"{stopped} steps of newest schedules called off in silence")
    wrong = (*figures["lost"], *figures["doubled"], *figures["stopped"], *figures["internal_errors"])
    lines += [f"  {each}" for each in wrong]
    lines.append(f"{len(figures['errors_in_peace'])} errors in hours of peace")
    lines += [f"  {each}" for each in figures["errors_in_peace"][:10]]
    lines += ["", "| fault: stage: error | times |", "|---|---|"]
    lines += [f"| {told} | {count} |" for told, count in sorted(figures["errors"].items())]
    lines += [
        "",
        "| at the end of a day | " + " | ".join(str(n + 1) for n in range(len(figures["peak_mib_by_day"]))) + " |",
    ]
    lines.append("|---" * (1 + len(figures["peak_mib_by_day"])) + "|")
    rows = {"most memory of a job, MiB": figures["peak_mib_by_day"], "guard, MiB": figures["guard_mib_by_day"]}
    rows |= {f"{name}, MiB": sizes for name, sizes in figures["size_mib_by_day"].items()}
    lines += [f"| {name} | " + " | ".join(f"{value:.0f}" for value in values) + " |" for name, values in rows.items()]
    return "\n".join(lines)
