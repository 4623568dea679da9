"""Instances in one container, which deals the time of its cores evenly to those that compute, step by step."""

import numpy as np

from modeling.arrays import Floats
from modeling.compiled import compiled

STEP_S = 0.00025


@compiled
def in_shared_cores(
    rng: np.random.Generator, come: Floats, cpu_s: Floats, wait_s: Floats, cores: float, steps: int
) -> tuple[Floats, Floats, Floats]:
    """Busy and used seconds and what is done, shape (spans, instances).

    come: mean arrivals in a step, same shape. cpu_s, wait_s: of each tuple, first computing, then waiting, by instance.
    """
    spans, instances = come.shape
    zeros = np.zeros((6, spans, instances))
    queue, done, compute_s, pause_s, busy_s, used_s = zeros[0], zeros[1], zeros[2], zeros[3], zeros[4], zeros[5]
    serving = np.zeros(come.shape, np.bool_)
    for _ in range(steps):
        for span in range(spans):
            for at in range(instances):
                queue[span, at] += rng.poisson(come[span, at])
        for span in range(spans):
            computing = 0
            for at in range(instances):
                drawn_s = rng.exponential(cpu_s[at])
                if queue[span, at] > 0 and not serving[span, at]:
                    serving[span, at] = True
                    compute_s[span, at] += drawn_s
                    pause_s[span, at] += wait_s[at]
                computing += compute_s[span, at] > 0
            most_s = min(1.0, cores / max(1, computing)) * STEP_S
            for at in range(instances):
                if compute_s[span, at] > 0:
                    busy_s[span, at] += STEP_S
                    used_s[span, at] += min(compute_s[span, at], most_s)
                    # What a step overshoots goes to the next tuple, so that none gets longer by it.
                    compute_s[span, at] -= most_s
                elif pause_s[span, at] > 0:
                    busy_s[span, at] += STEP_S
                    pause_s[span, at] -= STEP_S
                if serving[span, at] and compute_s[span, at] <= 0 and pause_s[span, at] <= 0:
                    serving[span, at] = False
                    queue[span, at] -= 1
                    done[span, at] += 1
    return busy_s, used_s, done
