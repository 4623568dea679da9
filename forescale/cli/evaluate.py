"""`forescale evaluate`: what plans would do under a load, side by side."""

import math
from pathlib import Path
from typing import Annotated, Any

import typer

from forescale.cli.output import AsJson, console, plain, say_json, table
from forescale.plan_file import read_plan_file
from forescale.profile_file import read_profile_file
from forescale.settings import Settings
from forescale.wiring import topology_config
from modeling.errors import ModelError
from modeling.estimate import Estimate
from modeling.evaluate import evaluate as evaluated


def evaluate(
    topology: Annotated[str, typer.Option(help="Topology file, or its name in the folder of topology files.")],
    plan: Annotated[list[Path], typer.Option(help="Plan file (YAML); give several to compare them.")],
    load: Annotated[list[str], typer.Option(help="SOURCE=EVENTS_PER_SECOND, one for each source.")],
    profile: Annotated[Path | None, typer.Option(help="Measured profiles (JSON); the file's own where absent.")] = None,
    as_json: AsJson = False,
) -> None:
    """Throughput, bottleneck, utilisation and waits of physical plans under a load, before anything is deployed."""
    config = topology_config(topology, Settings())
    shape = config.as_topology()
    profiles = config.declared_profiles() | (read_profile_file(profile) if profile else {})
    loads = dict(_load(text) for text in load)
    estimates = {str(path): evaluated(shape, profiles, read_plan_file(path, shape), loads) for path in plan}
    if as_json:
        say_json({name: as_dict(estimate) for name, estimate in estimates.items()})
        return
    for name, estimate in estimates.items():
        _show(name, estimate)


def as_dict(estimate: Estimate) -> dict[str, Any]:
    """Every number of an estimate; waits and latencies are null where the plan is unstable."""
    return {
        "plan_id": estimate.plan_id,
        "stable": estimate.stable,
        "load_per_s": dict(estimate.load_per_s),
        "throughput_per_s": dict(estimate.throughput_per_s),
        "mst_per_s": dict(estimate.mst_per_s),
        "saturation_scale": estimate.saturation_scale,
        "bottleneck": estimate.bottleneck,
        "latency_s": estimate.latency_s,
        "excess_per_s": dict(estimate.excess_per_s),
        "bounds": list(estimate.bounds),
        "operators": {
            name: {
                "parallelism": operator.parallelism,
                "arrival_rate_per_s": operator.arrival_rate_per_s,
                "utilisation": operator.utilisation,
                "instance_utilisation": operator.instance_utilisation.tolist(),
                "wait_s": operator.wait_s,
                "saturation_scale": operator.saturation_scale,
            }
            for name, operator in estimate.operators.items()
        },
    }


def _load(text: str) -> tuple[str, float]:
    source, equals, rate = text.partition("=")
    try:
        if not (source and equals):
            raise ValueError
        return source, float(rate)
    except ValueError:
        raise ModelError(f"--load {text!r} is not SOURCE=RATE; give it like --load 'ingest=1.2'") from None


def _show(name: str, estimate: Estimate) -> None:
    rows = []
    for operator in estimate.operators.values():
        wait = f"{operator.wait_s:.3g} s" if math.isfinite(operator.wait_s) else "unstable"
        mark = " ← bottleneck" if operator.operator == estimate.bottleneck else ""
        rows.append(
            (
                operator.operator + mark,
                operator.parallelism,
                f"{operator.arrival_rate_per_s:.4g}/s",
                f"{operator.utilisation:.0%}",
                wait,
            )
        )
    console.print(table(name, ["operator", "instances", "arrivals", "busiest instance", "mean wait"], rows))
    for source, mst_per_s in estimate.mst_per_s.items():
        offered, taken = estimate.load_per_s[source], estimate.throughput_per_s[source]
        plain(f"{source}: offered {offered:.4g}/s, processed {taken:.4g}/s, at most {mst_per_s:.4g}/s")
    plain(
        f"mean latency {estimate.latency_s:.3g} s"
        if estimate.stable
        else f"unstable: raise the parallelism of {estimate.bottleneck}"
    )
    for stream in estimate.bounds:
        plain(
            f"{stream}: its keys are not known well enough to tell how even it is dealt; declare or measure key_shares"
        )
