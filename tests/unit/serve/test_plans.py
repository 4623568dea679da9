"""One topology whose rows are damaged hides no other."""

import sqlite3
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from ledger_decisions import plan_of, steps_at
from served import TOPOLOGY, home

from forescale.serve.plans import Answer, ServedPlans


def read(plans: ServedPlans, topology: str) -> Answer:
    """What was read once it was."""
    deadline = time.monotonic() + 60
    while not plans.fresh:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    answer = plans.of(topology)
    assert answer is not None
    return answer


def test_a_damaged_row__makes_the_plan_of_its_topology_alone_unknown(tmp_path: Path) -> None:
    here = home(tmp_path)
    (tmp_path / "mails.yaml").write_text(TOPOLOGY.replace("topology: calls", "topology: mails"))
    here.plan((0, 8))
    mails = here.ledger.record_schedule(replace(steps_at(), topology="mails", current=plan_of(2, "mails")))
    file = here.settings.ledger_file
    assert file is not None
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE schedules SET body = '{}' WHERE topology = 'mails'")
    with ServedPlans(here.settings) as plans:
        assert read(plans, "calls").offer is not None
        damaged = read(plans, "mails")
    assert damaged.offer is None
    assert mails in damaged.why
