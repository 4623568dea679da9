"""The job of known service times as a value: what Flink is told, and what its sinks wrote."""

from pathlib import Path

import numpy as np
import pytest

from forescale.local.demo.modeled_job import ModeledJob, logged_latencies_s, offer
from forescale.local.errors import LocalFlinkError
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.topology import Grouping, Operator, Stream, Topology

TOPOLOGY = Topology(
    "shop",
    (Operator("orders"), Operator("check"), Operator("clicks"), Operator("settle")),
    (
        Stream("orders", "check"),
        Stream("check", "settle", Grouping.FIELDS),
        Stream("clicks", "settle", Grouping.FIELDS),
    ),
)
TRUTH = {
    "orders": OperatorProfile("orders", 0.0, service_cv2=0.0),
    "clicks": OperatorProfile("clicks", 0.0, service_cv2=0.0),
    "check": OperatorProfile("check", 0.004, {"check->settle": 0.5}, service_cv2=1.0),
    "settle": OperatorProfile(
        "settle", 0.003, service_cv2=0.25, stream_service_s={"check->settle": 0.005, "clicks->settle": 0.0015}
    ),
}


def log(folder: Path, name: str, *items: tuple[int, int], torn: bytes = b"") -> None:
    """A sink's log of pairs (due, latency) in microseconds, as Java writes them."""
    body = b"".join(due.to_bytes(8, "big") + latency.to_bytes(4, "big") for due, latency in items)
    (folder / f"{name}.latencies").write_bytes(body + torn)


def test_arguments__write_operators_in_order_and_streams_with_their_service_times() -> None:
    told = ModeledJob(TOPOLOGY, TRUTH, state_mib={"settle": 12.5}, buffer_timeout_s=0.005).arguments()
    # Erlang of 1/cv² phases; 0 for constant. Operators after all that feed them.
    assert sorted(told["operators"].split(",")) == ["check:1:0:0", "clicks:0:0:0", "orders:0:0:0", "settle:4:12.5:0"]
    assert told["operators"].endswith("settle:4:12.5:0")
    assert told["streams"] == ("orders:check:shuffle:1:4,check:settle:fields:0.5:5,clicks:settle:fields:1:1.5")
    assert told["buffer-timeout-ms"] == "5"


def test_declared__give_neither_service_times_nor_selectivities_away() -> None:
    declared = ModeledJob(TOPOLOGY, TRUTH).declared_profiles()
    assert {profile.service_s for profile in declared.values()} == {1.0}
    assert declared["check"].selectivity == {"check->settle": 1.0}
    assert not declared["settle"].stream_service_s
    assert declared["settle"].service_cv2 == 0.25  # the spread is known


def test_keys__follow_zipf() -> None:
    shares = ModeledJob(TOPOLOGY, TRUTH, keys=3, skew=1.0).key_shares.shares
    assert shares == pytest.approx({"k0": 6 / 11, "k1": 3 / 11, "k2": 2 / 11})  # 1 : 1/2 : 1/3


def test_job__refuses_what_it_cannot_do() -> None:
    with pytest.raises(LocalFlinkError, match=r"service_cv2 0\.3; give 0 or 1, 1/2"):
        ModeledJob(TOPOLOGY, {**TRUTH, "check": OperatorProfile("check", 0.004, service_cv2=0.3)})
    with pytest.raises(LocalFlinkError, match="'check' has state and no keyed stream"):
        ModeledJob(TOPOLOGY, TRUTH, state_mib={"check": 1.0})
    whole = Topology("all", TOPOLOGY.operators, (Stream("orders", "check", Grouping.ALL),))
    with pytest.raises(LocalFlinkError, match="is grouped all; give it shuffle or fields"):
        ModeledJob(whole, TRUTH)


def test_latencies__are_merged_in_the_order_in_which_items_were_due(tmp_path: Path) -> None:
    log(tmp_path, "settle-0", (1_000_000, 30), (3_000_000, 10))
    log(tmp_path, "settle-1", (2_000_000, 20), torn=b"\0\0\0")  # the last record is still being written
    assert logged_latencies_s(tmp_path, 0.0, 10.0) * 1e6 == pytest.approx([30, 20, 10])


def test_latencies__are_those_of_items_due_in_the_span(tmp_path: Path) -> None:
    log(tmp_path, "settle-0", (1_000_000, 1), (2_000_000, 2), (3_000_000, 3))
    assert logged_latencies_s(tmp_path, 2.0, 3.0) * 1e6 == pytest.approx([2])
    assert logged_latencies_s(tmp_path, 5.0, 6.0).dtype == np.float64


def test_offer__replaces_the_rate_of_each_source(tmp_path: Path) -> None:
    offer(tmp_path, {"orders": 12.5, "clicks": 0.0})
    offer(tmp_path, {"orders": 20.0})
    assert (tmp_path / "orders.rate").read_text() == "20"
    assert (tmp_path / "clicks.rate").read_text() == "0"
