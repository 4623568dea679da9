"""The topology files of examples/ are read, and name the cluster that they are examples of."""

import pytest

from forescale.files.topology import read_topology_file
from forescale.settings import PROJECT


@pytest.mark.parametrize(
    ("file", "kind"),
    [("heron/words.yaml", "heron"), ("storm/word-count.yaml", "storm"), ("flink/word-count.yaml", "flink")],
)
def test_example__is_a_topology_file_of_its_engine(file: str, kind: str) -> None:
    config = read_topology_file(PROJECT / "examples" / file)
    assert (config.engine, config.cluster.kind) == (kind, kind)


def test_key_shares_of_the_word_count__are_those_of_its_words() -> None:
    """Thirty words: six times storm, three times heron, 21 others."""
    shares = read_topology_file(PROJECT / "examples" / "storm" / "word-count.yaml").operators["count"].key_shares
    assert shares is not None
    assert sum(shares.values()) == pytest.approx(1)
    assert shares == pytest.approx({"storm": 6 / 30, "heron": 3 / 30, **{f"w{n}": 1 / 30 for n in range(21)}}, abs=1e-6)
