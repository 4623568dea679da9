"""Whether Heron may be asked for another plan: its client is looked for, and tried without a change."""

from pathlib import Path

import pytest
from heron_stand_in import heron_stand_in

from modeling.inputs.topology import Engine, Grouping, Operator, Stream, Topology
from planner.clusters.heron import HeronCluster, HeronNames
from planner.errors import ClusterError

WORDS = Topology(
    "words",
    (Operator("feed", 16), Operator("split", 16), Operator("count", 16)),
    (Stream("feed", "split"), Stream("split", "count", Grouping.FIELDS)),
    Engine.HERON,
)


def test_check_may_rescale__is_a_dry_run_of_one_instance_more(tmp_path: Path) -> None:
    with heron_stand_in(tmp_path) as heron:
        names = HeronNames("local", "prod", "words", "ubuntu")
        cluster = HeronCluster(heron.url, names, WORDS, client=[str(heron.client)])
        assert "took feed 2" in cluster.check_may_rescale()
        (call,) = heron.calls()
    assert "--dry-run" in call


def test_check_may_rescale__where_the_client_is_lacking_says_so(tmp_path: Path) -> None:
    with heron_stand_in(tmp_path) as heron:
        names = HeronNames("local", "prod", "words", "ubuntu")
        cluster = HeronCluster(heron.url, names, WORDS, client=["/no/such/heron"])
        with pytest.raises(ClusterError, match=r"cannot be run: No such file .* install Heron's client here"):
            cluster.check_may_rescale()


def test_update__without_a_role_names_the_one_under_which_the_tracker_knows_the_topology(tmp_path: Path) -> None:
    # Heron's client would read local/prod as cluster and role, in the environment "default".
    with heron_stand_in(tmp_path) as heron:
        cluster = HeronCluster(heron.url, HeronNames("local", "prod", "words"), WORDS, client=[str(heron.client)])
        cluster.check_may_rescale()
        (call,) = heron.calls()
    assert call[:3] == ["update", "local/ubuntu/prod", "words"]


@pytest.mark.parametrize(
    ("roles", "count"),
    [({}, "0 roles;"), ({"a": {"prod": ["words"]}, "b": {"prod": ["words"]}}, r"2 roles \(a, b\);")],
)
def test_update__under_no_one_role_asks_for_it(tmp_path: Path, roles: dict[str, object], count: str) -> None:
    with heron_stand_in(tmp_path) as heron:
        heron.tracker.answers["/topologies"] = {"local": roles}
        cluster = HeronCluster(heron.url, HeronNames("local", "prod", "words"), WORDS, client=[str(heron.client)])
        with pytest.raises(ClusterError, match=rf"runs under {count} give the one that `heron submit` was given"):
            cluster.check_may_rescale()
        assert heron.calls() == []
