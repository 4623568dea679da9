"""Questions of a drafted topology file: calibration answers some, a person the others."""

from pathlib import Path

from forescale.files.topology_draft import DraftSection, TopologyDraft, topology_draft
from forescale.jobs.init import DraftedTopology
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.topology import Engine, Grouping
from planner.clusters.job_description import DescribedOperator, DescribedStream, JobDescription

JOB = JobDescription(
    "shop",
    Engine.FLINK,
    "http://127.0.0.1:8081",
    runs=True,
    state="RUNNING",
    operators=[DescribedOperator("orders", "orders", 1), DescribedOperator("bill", "bill\nagain # TODO: no", 1)],
    streams=[DescribedStream("orders", "bill", Grouping.SHUFFLE)],
)
SERVICE, MADE, AGE = "how long is one instance busy", "how many tuples does the source emit", "how old may waiting"


def draft() -> TopologyDraft:
    return topology_draft("shop", JOB, DraftSection(None), DraftSection(None), "Written by hand.")


def left_open(profiles: dict[str, OperatorProfile]) -> list[str]:
    made = draft()
    drafted = DraftedTopology("shop", Path("shop.yaml"), JOB, None, made.questions, "")
    return [each.text for each in drafted.open_after(profiles)]


def test_questions__stand_on_the_lines_that_they_name() -> None:
    made = draft()
    lines = made.text.splitlines()
    assert [lines[each.line - 1] for each in made.questions] == [str(each) for each in made.questions]
    asked = zip(made.questions, (SERVICE, SERVICE, MADE, AGE), strict=True)
    assert all(each.text.startswith(begin) for each, begin in asked)


def test_a_calibration__leaves_open_what_it_did_not_measure() -> None:
    assert len(left_open({})) == 4
    measured = {"service_s": (0.001, 0.002)}
    of_both = {name: OperatorProfile(name, 0.0015, intervals=measured) for name in ("orders", "bill")}
    # The engine did not count what the source takes in.
    assert [each[:16] for each in left_open(of_both)] == [MADE[:16], AGE[:16]]
    counted = OperatorProfile("orders", 0.0015, intervals={**measured, "selectivity[orders->bill]": (1.0, 1.0)})
    assert [each[:16] for each in left_open({**of_both, "orders": counted})] == [AGE[:16]]
    # Too few tuples for anything: what a person has declared stands, and is asked.
    assert len(left_open({name: OperatorProfile(name, 0.001) for name in of_both})) == 4
