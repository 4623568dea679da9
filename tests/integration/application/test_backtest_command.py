"""`forescale forecast backtest`: any trace replayed, with every forecaster."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from forescale.cli import main


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three weeks of hours: a daily swing, and a day that was not recorded."""
    hours = pd.date_range("2003-03-03", periods=21 * 24, freq="h", tz="UTC")
    rate = 3000 + 2000 * np.sin(2 * np.pi * hours.hour / 24)
    rows = pd.DataFrame(
        {"timestamp": hours.strftime("%Y-%m-%dT%H:%M:%SZ"), "count": np.random.default_rng(1).poisson(rate)}
    )
    path = tmp_path_factory.mktemp("trace") / "swing.csv"
    rows[(hours.day != 9) | (hours.month != 3)].to_csv(path, index=False)
    return path


def run(*arguments: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["forecast", "backtest", *arguments])
    assert ended.value.code == 0


def test_backtest__writes_every_prediction_and_scores_them(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "predictions.parquet"
    run(str(trace), "--out", str(out), "--origins", "6", "--json")
    told = json.loads(capsys.readouterr().out)
    assert (told["window_s"], told["windows"], told["origins"]) == (3600, 21 * 24, 6)
    deployed = {score["horizon_s"]: score for score in told["scores"] if score["candidate"] == "deployed"}
    # Windows of an hour have no peak within 15 minutes.
    assert set(deployed) == {3600, 21600, 86400}
    assert all(score["ratio_p95"] < 1 for score in deployed.values())
    # What is left to miss of Poisson counts around 3000 an hour is some percent.
    assert all(score["wape"] < 0.05 for score in deployed.values())

    rows = pq.read_table(out).to_pandas()
    assert set(rows.columns) == {"origin", "horizon_s", "kind", "target_time", "quantile", "value", "candidate"}
    assert set(rows["candidate"]) == {
        "deployed", "time_of_week", "ridge_fourier", "harmonic_arima", "recent_days", "first_days", "persistence",
        "day_naive", "week_naive",
    }  # fmt: skip
    assert rows["origin"].nunique() == 6
    peaks = rows.query("kind == 'peak' and candidate == 'deployed'")
    assert len(peaks) == 6 * 3 * 4
    assert (peaks["target_time"] - peaks["origin"]).dt.total_seconds().tolist() == peaks["horizon_s"].tolist()
    paths = rows.query("kind == 'path' and horizon_s == 21600 and candidate == 'deployed' and quantile == 0.5")
    assert len(paths) == 6 * 6
    assert ((paths["value"] > 0.2) & (paths["value"] < 1.6)).all()


def test_backtest__shows_a_table_for_each_horizon_and_where_its_predictions_are(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORESCALE_HOME", str(tmp_path / "home"))
    run(str(trace), "--origins", "2")
    told = capsys.readouterr().out
    out = tmp_path / "home" / "backtests" / "swing.parquet"
    assert f"predictions in {out}" in told
    assert pq.read_table(out).to_pandas()["origin"].nunique() == 2
    assert "peak within 24 h, against the better of last day and week" in told
    assert "deployed" in told


def test_backtest__draws_a_page_where_one_is_asked_for(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "swing.html"
    run(
        str(trace),
        "--out",
        str(tmp_path / "p.parquet"),
        "--origins",
        "2",
        "--plot",
        str(page),
        "--json",
    )
    assert json.loads(capsys.readouterr().out)["plot"] == str(page)
    told = page.read_text()
    assert "6 peaks stayed within the p95 that was forecast" in told
    assert str(trace) in told


def test_backtest__refuses_a_page_of_another_kind_before_anything_is_replayed(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["forecast", "backtest", str(trace), "--out", str(tmp_path / "p.parquet"), "--plot", "swing.png"])
    assert ended.value.code == 1
    assert "--plot swing.png is not the name of a page; give one that ends in .html" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        (["2003-03-03T07:00:00Z,1", "2003-03-03T08:00:00Z,-1"], "row 3: count '-1'"),
        (["2003-03-03T07:00:00Z,1", "2003-03-03T08:00:00Z,1"], "none is a whole number of windows and leaves a day"),
        ([f"2003-03-{3 + n // 24:02}T{n % 24:02}:00:00Z," for n in range(96)], "no forecaster can forecast this trace"),
    ],
)  # fmt: skip
def test_backtest__of_a_trace_that_cannot_be_used_says_why_and_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rows: list[str], complaint: str
) -> None:
    (tmp_path / "t.csv").write_text("\n".join(["timestamp,count", *rows]) + "\n")
    with pytest.raises(SystemExit) as ended:
        main(["forecast", "backtest", str(tmp_path / "t.csv"), "--out", str(tmp_path / "p.parquet")])
    assert ended.value.code == 1
    said = capsys.readouterr().err
    assert complaint in said
    assert said.startswith("forescale: ")
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def test_a_trace_shorter_than_a_season__has_dashes_for_it_and_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hours = pd.date_range("2003-03-03", periods=3 * 24, freq="h", tz="UTC")
    path = tmp_path / "short.csv"
    pd.DataFrame({"timestamp": hours.strftime("%Y-%m-%dT%H:%M:%SZ"), "count": range(len(hours))}).to_csv(path)
    run(str(path), "--out", str(tmp_path / "predictions.parquet"), "--origins", "2")
    told = capsys.readouterr().out
    assert "nan" not in told
    assert "a week ago: – where the trace holds nothing so long before its origins" in told
