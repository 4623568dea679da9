"""How long it takes to replay the day before a decision, under the guard alone and in hindsight.

    OMP_NUM_THREADS=1 python benchmarks/last_day.py [--json]

The topology is a chain of operators; an instance is busy for 50 ms a tuple, except in the source. The day's load is a
noisy wave from 10 to 80 tuples a second, by the minute. CPU seconds are of the second of two runs: the first compiles.
"""

import argparse
import json
import sys
import time
from itertools import pairwise

import numpy as np

# A script's own folder comes first, and holds a file that is named like a package.
sys.path.pop(0)

from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.topology import Operator, Stream, Topology
from planner.clusters.engine_terms import EngineTerms
from planner.guard.terms import GuardTerms
from planner.limits import Limits
from planner.plan_model import PlanModel
from planner.replay.last_day import DayTerms, LastDay, last_day
from planner.replay.load import Load

START_S = 1_772_409_600


def replayed(operators: int) -> tuple[float, LastDay]:
    names = [f"o{number}" for number in range(operators)]
    topology = Topology(
        "chain", tuple(Operator(name) for name in names), tuple(Stream(*pair) for pair in pairwise(names))
    )
    profiles = {
        name: OperatorProfile(name, 0.05 if number else 0.0001, {s.name: 1.0 for s in topology.outputs(name)})
        for number, name in enumerate(names)
    }
    wave = 45 - 35 * np.cos(2 * np.pi * np.arange(1440) / 1440)
    load = Load(START_S, {names[0]: wave * np.exp(0.05 * np.random.default_rng(1).standard_normal(1440))})
    terms = DayTerms(
        EngineTerms(30.0, lead_s=300.0), GuardTerms(limits=Limits(max_instances=200)), {}, allowed_share=0.005
    )
    begun_s = time.process_time()
    day = last_day(load, PlanModel(topology, profiles), terms, dict.fromkeys(names, 4))
    return time.process_time() - begun_s, day


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    rows = []
    for operators in (2, 10):
        replayed(operators)
        cpu_s, day = replayed(operators)
        rows.append(
            {
                "operators": operators,
                "cpu_s": round(cpu_s, 2),
                "guard_instance_hours": round(day.guard.instance_hours, 1),
                "guard_violation_minutes": day.guard.violation_minutes,
                "hindsight_instance_hours": round(day.hindsight.instance_hours, 1),
                "hindsight_violation_minutes": day.hindsight.violation_minutes,
            }
        )
    if arguments.json:
        print(json.dumps(rows, indent=1))
        return
    for row in rows:
        print(", ".join(f"{name} {value}" for name, value in row.items()))


if __name__ == "__main__":
    main()
