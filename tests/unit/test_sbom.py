"""The bill of materials that is published with the wheel: all that the lock pins, and nothing else."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
LOCK = (PROJECT / "requirements.lock").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def bill(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    script = PROJECT / "scripts" / "sbom.py"
    said = subprocess.run([sys.executable, script, folder], capture_output=True, text=True, check=True).stdout.strip()
    assert re.fullmatch(r"forescale-\d+\.\d+\.\d+\.cdx\.json", Path(said).name)
    return json.loads(Path(said).read_text(encoding="utf-8"))


def test_bill__has_every_locked_requirement_with_its_version_and_its_hashes(bill):
    locked, hashes = set(), 0
    for entry in re.split(r"\n(?=[a-z0-9])", LOCK):
        name, version = re.match(r"([\w.-]+)(?:\[[^]]*\])?==([^ ;]+)", entry).groups()
        pins = frozenset(re.findall(r"sha256:([0-9a-f]{64})", entry))
        locked.add((name, version, pins))
        hashes += len(pins)
    told = {
        (each["name"], each["version"], frozenset(pin["content"] for pin in each["hashes"]))
        for each in bill["components"]
    }
    assert told == locked
    assert hashes == LOCK.count("--hash=sha256:")
    assert all(each["hashes"] and each["hashes"][0]["alg"] == "SHA-256" for each in bill["components"])


def test_bill__is_a_document_of_cyclonedx_about_forescale(bill):
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.6", 1)
    assert re.fullmatch(r"urn:uuid:[0-9a-f-]{36}", bill["serialNumber"])
    assert bill["metadata"]["component"]["purl"].startswith("pkg:pypi/forescale@")
    refs = [each["bom-ref"] for each in bill["components"]]
    assert len(refs) == len(set(refs))


def test_bill__tells_what_asks_for_what_and_what_no_user_needs(bill):
    scopes = {each["name"]: each["scope"] for each in bill["components"]}
    assert (scopes["pandas"], scopes["py4j"], scopes["pytest"]) == ("required", "required", "excluded")
    asked = {each["ref"]: each["dependsOn"] for each in bill["dependencies"]}
    (pyspark,) = (ref for ref in asked if ref.startswith("pkg:pypi/pyspark@"))
    assert [ref for ref in asked[pyspark] if ref.startswith("pkg:pypi/py4j@")]
    ours = asked[bill["metadata"]["component"]["bom-ref"]]
    assert pyspark in ours
    assert any(ref.startswith("pkg:pypi/pytest@") for ref in ours)
    refs = {each["bom-ref"] for each in bill["components"]}
    assert {ref for wanted in asked.values() for ref in wanted} <= refs


def test_bill__of_the_same_lock_is_the_same_to_the_byte(bill, tmp_path):
    script = PROJECT / "scripts" / "sbom.py"
    said = subprocess.run([sys.executable, script, tmp_path], capture_output=True, text=True, check=True).stdout.strip()
    assert json.loads(Path(said).read_text(encoding="utf-8")) == bill
