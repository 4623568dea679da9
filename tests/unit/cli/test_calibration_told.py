"""What `forescale model calibrate` prints where two calibrations differ."""

from pathlib import Path

import pytest
from sampled_words import samples, words_file

from forescale.cli import main


def test_calibrations_minutes_apart_that_differ__are_told_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORESCALE_HOME", str(tmp_path / "home"))
    topology = words_file(tmp_path)
    for service_s in (0.004, 0.005):
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(["model", "calibrate", str(topology), "--samples", str(samples(tmp_path, service_s))])
        assert ended.value.code == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "split: service_s was 0.004, is 0.005 (+25%" in said
    assert "plan again, instances carry less" in said
    assert "the job may still be warming up; calibrate again until two agree" in said
