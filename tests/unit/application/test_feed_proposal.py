"""The section `arrivals` from what scalers go by."""

from forescale.jobs.arrival_proposal import feed_proposal
from modeling.inputs.topology import Engine
from planner.clusters.job_description import (
    CounterFeed,
    DescribedOperator,
    DescribedStream,
    Feed,
    Grouping,
    JobDescription,
    TopicFeed,
)

ORDERS = TopicFeed("kafka:9092", "orders", "billing", "scaledobject/orders scales by topic orders")
CLICKS = TopicFeed("kafka:9092", "clicks", "billing", "scaledobject/clicks scales by topic clicks")


def _job(*, streams_open: bool = True, streams: tuple[str, str] | None = None, **feeds: Feed) -> JobDescription:
    """orders and clicks."""
    return JobDescription(
        "shop",
        Engine.FLINK,
        "here",
        True,
        "all replicas are ready",
        [DescribedOperator(name, name, 1) for name in ("orders", "clicks")],
        [DescribedStream(*streams, Grouping.SHUFFLE)] if streams else [],
        feeds=feeds,
        streams_question="which?" if streams_open else "",
    )


def test_topics_of_one_group__are_named_with_it() -> None:
    proposal = feed_proposal(_job(orders=ORDERS, clicks=CLICKS))
    assert proposal is not None
    assert proposal.section is not None
    assert proposal.section.model_dump(include={"servers", "topics", "group"}) == {
        "servers": "kafka:9092",
        "topics": {"orders": "orders", "clicks": "clicks"},
        "group": "billing",
    }
    assert proposal.question == ""
    assert "orders: scaledobject/orders scales by topic orders." in proposal.remarks


def test_topics_of_several_groups__leave_the_group_out() -> None:
    proposal = feed_proposal(_job(orders=ORDERS, clicks=TopicFeed("kafka:9092", "clicks", "web", "…")))
    assert proposal is not None
    assert proposal.section is not None
    assert proposal.section.model_dump()["group"] is None
    assert any("the backlog stays unknown" in remark for remark in proposal.remarks)


def test_a_source_fed_from_elsewhere__is_an_open_question() -> None:
    """Where streams are known, every source must be counted; where they are open, those that are fed may be all."""
    other = TopicFeed("other:9092", "clicks", "web", "…")
    proposal = feed_proposal(_job(orders=ORDERS, clicks=other))
    assert proposal is not None
    assert proposal.question == "where are the arrivals at clicks counted?"
    assert (alone := feed_proposal(_job(orders=ORDERS))) is not None
    assert alone.question == ""
    known = feed_proposal(_job(streams_open=False, orders=ORDERS))
    assert known is not None
    assert known.question == "where are the arrivals at clicks counted?"
    after = feed_proposal(_job(streams_open=False, streams=("orders", "clicks"), orders=ORDERS, clicks=CLICKS))
    assert after is not None
    assert after.section is not None
    assert after.section.model_dump()["topics"] == {"orders": "orders"}


def test_a_login_of_the_scaler__is_asked_for() -> None:
    proposal = feed_proposal(_job(orders=TopicFeed("kafka:9092", "orders", None, "…", "tls: enable")))
    assert proposal is not None
    assert "how does one log in to Kafka (the scaler: tls: enable)?" in proposal.question


def test_counters__are_asked_about_and_come_behind_topics() -> None:
    counter = CounterFeed("http://prometheus:9090", "clicks_total", "scaledobject/clicks scales by …")
    proposal = feed_proposal(_job(clicks=counter))
    assert proposal is not None
    assert proposal.section is not None
    assert proposal.section.model_dump()["queries"] == {"clicks": "clicks_total"}
    assert "does this count all that is offered, each event once?" in proposal.question
    both = feed_proposal(_job(orders=ORDERS, clicks=counter))
    assert both is not None
    assert both.section is not None
    assert both.section.kind == "kafka"
    assert both.question == "where are the arrivals at clicks counted?"


def test_no_feed__proposes_nothing() -> None:
    assert feed_proposal(_job()) is None
