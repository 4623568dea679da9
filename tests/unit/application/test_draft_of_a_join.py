"""The file that `forescale init` writes asks about a join whose inputs change their mix."""

from forescale.files.topology_draft import DraftSection, topology_draft
from modeling.inputs.topology import Engine, Grouping
from planner.clusters.job_description import DescribedOperator, DescribedStream, JobDescription


def questions_of(*streams: tuple[str, str, float]) -> list[str]:
    names = dict.fromkeys(name for upstream, downstream, _ in streams for name in (upstream, downstream))
    job = JobDescription(
        "shop",
        Engine.FLINK,
        "http://127.0.0.1:8081",
        runs=True,
        state="RUNNING",
        operators=[DescribedOperator(name, name, 1, service_s=0.001) for name in names],
        streams=[DescribedStream(a, b, Grouping.SHUFFLE, selectivity=ratio) for a, b, ratio in streams],
    )
    draft = topology_draft("shop", job, DraftSection(None), DraftSection(None), "Written by hand.")
    return [question.text for question in draft.questions if "mix" in question.text]


def test_init__asks_whether_a_join_makes_as_many_for_each_input() -> None:
    # Clicks make one each, profiles none: 0.73 at the mix of the day.
    (question,) = questions_of(("clicks", "join", 1.0), ("profiles", "join", 1.0), ("join", "sink", 0.73))
    assert question.startswith("does join make as many for each tuple of clicks->join and profiles->join?")


def test_init__asks_nothing_of_inputs_that_keep_their_mix() -> None:
    assert (
        questions_of(("in", "x", 1.0), ("in", "y", 1.0), ("x", "join", 1.0), ("y", "join", 1.0), ("join", "k", 1.0))
        == []
    )
