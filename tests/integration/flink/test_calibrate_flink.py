"""`forescale model calibrate` on a real job, whose service times it was told."""

import json
from pathlib import Path

import pytest
import yaml
from machine import stretched

from forescale.cli import main
from forescale.files.profile import read_profile_file
from forescale.local.demo.word_count import COUNT, SOURCE, SPLIT, RunningWordCount, WordCount
from forescale.local.flink.local_cluster import LocalFlink

pytestmark = [pytest.mark.flink, pytest.mark.slow]

JOB = WordCount(name="word-count-under-test")


def test_calibrate__finds_the_service_times_of_a_running_job(
    flink: LocalFlink,
    word_count: RunningWordCount,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("FORESCALE_HOME", str(tmp_path))
    topology = tmp_path / "words.yaml"
    arrivals = {"path": "events", "format": "csv", "columns": {"time": "t", "source": "s", "id": "i"}, "window_s": 60}
    body = {
        "topology": "words",
        "operators": {name: {"service_s": 1.0} for name in (SOURCE, SPLIT, COUNT)},
        "streams": [{"from": SOURCE, "to": SPLIT}, {"from": SPLIT, "to": COUNT, "grouping": "fields"}],
        "arrivals": arrivals,
        "cluster": {"kind": "flink", "url": flink.url, "job": JOB.name, "sample_s": 8, "timeout_s": 60},
    }
    topology.write_text(yaml.safe_dump(body))
    with stretched() as stretch, pytest.raises(SystemExit) as ended:
        main(["model", "calibrate", str(topology), "--json", "--out", str(tmp_path / "m.json")])
    assert ended.value.code == 0
    made = json.loads(capsys.readouterr().out)
    profiles = read_profile_file(tmp_path / "m.json")
    # Told: 4 ms a sentence, 1 ms a word, 5 words a sentence. A machine that is late adds to it, never takes from it.
    assert 0.0039 <= profiles[SPLIT].service_s <= 0.008 * stretch.factor
    assert 0.0009 <= profiles[COUNT].service_s <= 0.003 * stretch.factor
    assert profiles[SPLIT].selectivity[f"{SPLIT}->{COUNT}"] == pytest.approx(5.0, rel=0.05)
    for name in (SPLIT, COUNT):
        told = made["operators"][name]
        assert told["used"] >= 3
        low, high = told["intervals"]["service_s"]
        assert low < told["service_s"] < high
    assert made["offered"][SOURCE]["rate_per_s"] > 50 / stretch.factor
