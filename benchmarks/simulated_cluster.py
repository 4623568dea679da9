"""The cluster simulator beside a real Flink: the same load script on both, with a rescale up and one down.

    python benchmarks/simulated_cluster.py [--json FILE] [--plot FILE.html]
    python benchmarks/simulated_cluster.py --from FILE     # earlier measurements beside the simulator of today

A job with known service times runs on a cluster on loopback. Before the script, the simulator's inputs are measured as
a user would: service times, downtime, the time of a checkpoint, how many tuples fit into its buffers. Some four
minutes; the quieter the machine the better.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import plotly.graph_objects as go

# A script's own folder comes first, where a module is named like one of the packages; its helpers lie in another.
sys.path.pop(0)
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from flink_beside import MEASURED, MeasuredScript, measured_script
from load_script import LoadTrack, RescaleOutcome

from forescale.local.flink.local_cluster import local_flink

LABELS = {
    "waiting_before": "waiting when the job stopped",
    "backlog_before": "of these at the source",
    "max_waiting": "most that waited",
    "max_backlog": "most at the source",
    "max_lag_s": "largest lag, s",
    "downtime_s": "downtime, s",
    "recovery_s": "recovery, s",
}


def table(flink: LoadTrack, simulated: LoadTrack) -> str:
    """As Markdown, ready for benchmarks/results/simulated_cluster.md."""
    pairs = [(flink.outcome(number), simulated.outcome(number)) for number in range(len(flink.stops))]
    heads = " | ".join(f"{way}: Flink | simulator | difference" for way in ("up", "down"))
    lines = [f"| | {heads} |", "|---" * (1 + 3 * len(pairs)) + "|"]
    for name, label in LABELS.items():
        cells = (" | ".join(_cells(name, *pair)) for pair in pairs)
        lines.append(f"| {label} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cells(name: str, flink: RescaleOutcome, simulated: RescaleOutcome) -> tuple[str, str, str]:
    digits = 1 if name.endswith("_s") else 0
    difference = flink.differences(simulated).get(name)
    shown = (f"{getattr(of, name):.{digits}f}" for of in (flink, simulated))
    return (*shown, "–" if difference is None else f"{100 * difference:+.0f} %")  # type: ignore[return-value]


def page(flink: LoadTrack, simulated: LoadTrack) -> str:
    """Chart of both: the backlog, and the part of it at the source."""
    figure = go.Figure()
    for name, of, colour in (("Flink", flink, "#d55e00"), ("simulator", simulated, "#0072b2")):
        for what, values, dash in (("", of.waiting, "solid"), (", at the source", of.backlog, "dot")):
            line = {"color": colour, "dash": dash}
            figure.add_scatter(x=of.at_s, y=values, name=name + what, line=line, mode="lines")
    figure.update_layout(template="none", xaxis_title="s", yaxis_title="tuples that wait", hovermode="x unified")
    return str(figure.to_html(include_plotlyjs=True))


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def measured() -> MeasuredScript:
    """Measure the script on a cluster of its own."""
    with (
        tempfile.TemporaryDirectory(prefix="simulated-cluster-") as folder,
        local_flink(Path(folder), slots=4) as flink,
    ):
        return measured_script(flink, say)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write everything that was measured to this file")
    parser.add_argument("--from", dest="earlier", type=Path, help="measure nothing: what such a file says")
    parser.add_argument("--plot", type=Path, help="draw both into this HTML file")
    given = parser.parse_args()
    found = MEASURED.validate_json(given.earlier.read_bytes()) if given.earlier else measured()
    if given.json:
        given.json.write_bytes(MEASURED.dump_json(found, indent=1))
    flink, simulated = found.flink(), found.simulated()
    if given.plot:
        given.plot.write_text(page(flink, simulated), encoding="utf-8")
    print(table(flink, simulated))


if __name__ == "__main__":
    main()
