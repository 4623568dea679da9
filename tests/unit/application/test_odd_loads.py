"""`forescale model evaluate` under loads at the ends of what numbers hold: no warning of NumPy, no absurd figure."""

import re
import warnings
from pathlib import Path

import pytest

from forescale.cli import main

TOPOLOGY = """
topology: odd
operators:
  read: {{service_s: 0.001}}
  count: {{service_s: {service_s}, service_cv2: {cv2}}}
streams:
  - {{from: read, to: count}}
planning: {{max_lag_s: 60, max_p95_latency_s: 0.05}}
"""
LOADS = ("0", "1e-9", "499.9999999", "500", "1e12")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("service_s", "cv2"), [("1.0e-09", "1"), ("0.004", "1.0e-06"), ("0.004", "1.0e+4"), ("3600", "1")]
)
def test_evaluate__of_any_load_warns_of_nothing_and_prints_no_absurd_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], service_s: str, cv2: str
) -> None:
    monkeypatch.setenv("FORESCALE_HOME", str(tmp_path / "home"))
    (topology := tmp_path / "odd.yaml").write_text(TOPOLOGY.format(service_s=service_s, cv2=cv2))
    (plan := tmp_path / "plan.yaml").write_text("topology: odd\nparallelism: {read: 1, count: 2}\n")
    loads = [word for load in LOADS for word in ("--load", f"read={load}")]
    with warnings.catch_warnings(record=True, action="always") as warned, pytest.raises(SystemExit) as ended:
        main(["model", "evaluate", str(topology), "--plan", str(plan), *loads])
    printed = capsys.readouterr()
    assert (ended.value.code, printed.err, [str(each.message) for each in warned]) == (0, "", [])
    assert printed.out.count("load: read") == len(LOADS)
    # At most 1e12 tuples a second of an hour each: 3.6e15.
    assert [figure for figure in re.findall(r"e\+(\d+)", printed.out) if int(figure) > 15] == []
