"""A calibration of a model version comes back as it was, those of earlier releases too."""

from pathlib import Path

from forescale.files.profile import write_profile_file
from forescale.tracking.calibration_files import PROFILES_FILE, TOPOLOGY_FILE, read_calibration, write_calibration
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.topology import Engine, Grouping, Operator, Stream, Topology

SHOP = Topology(
    "shop",
    (Operator("clicks"), Operator("count words", 60)),
    (Stream("clicks", "count words", Grouping.CUSTOM, "left", (0.25, 0.75)),),
    Engine.STORM,
)
PROFILES = {"clicks": OperatorProfile("clicks", 0.001), "count words": OperatorProfile("count words", 0.01)}
BEFORE = """{"name":"shop","engine":"storm",
"operators":[{"name":"clicks","max_parallelism":128},{"name":"count words","max_parallelism":60}],
"streams":[{"upstream":"clicks","downstream":"count words","grouping":"custom","label":"left","shares":[0.25,0.75]}]}"""


def test_a_calibration__comes_back_as_it_was(tmp_path: Path) -> None:
    write_calibration(tmp_path / "made", SHOP, PROFILES, "2026-01-05T00:00:00Z")
    assert read_calibration(tmp_path / "made") == (SHOP, PROFILES)


def test_a_topology_of_before__is_read(tmp_path: Path) -> None:
    (tmp_path / TOPOLOGY_FILE).write_text(BEFORE)
    write_profile_file(tmp_path / PROFILES_FILE, "shop", PROFILES, "")
    assert read_calibration(tmp_path) == (SHOP, PROFILES)
