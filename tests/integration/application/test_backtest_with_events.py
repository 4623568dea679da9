"""`forescale forecast backtest --events`: a trace replayed with what was known beforehand."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from forescale.cli import main


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three weeks of hours at about 3000, with three times that from noon of the last day but one."""
    hours = pd.date_range("2003-03-03", periods=21 * 24, freq="h", tz="UTC")
    rate = np.where(np.arange(hours.size) >= 19.5 * 24, 9000, 3000)
    rows = pd.DataFrame(
        {"timestamp": hours.strftime("%Y-%m-%dT%H:%M:%SZ"), "count": np.random.default_rng(1).poisson(rate)}
    )
    path = tmp_path_factory.mktemp("trace") / "sale.csv"
    rows.to_csv(path, index=False)
    return path


def events(folder: Path, text: str) -> str:
    path = folder / "events.yaml"
    path.write_text(f"events:\n{text}")
    return str(path)


def median_peak_of_the_first_day_of_the_sale(trace: Path, folder: Path, *more: str) -> float:
    out = folder / "predictions.parquet"
    with pytest.raises(SystemExit) as ended:
        main(["forecast", "backtest", str(trace), "--out", str(out), "--origins", "22", "--json", *more])
    assert ended.value.code == 0
    rows = pq.read_table(out).to_pandas()
    peaks = rows.query("kind == 'peak' and candidate == 'time_of_week' and horizon_s == 86400 and quantile == 0.5")
    # Origins are half a day apart.
    (value,) = peaks[peaks["origin"] == pd.Timestamp("2003-03-22", tz="UTC")]["value"]
    return float(value)


def test_a_declared_sale__is_forecast_before_it_comes(trace: Path, tmp_path: Path) -> None:
    sale = "- {label: Sale, kind: launch, start: 2003-03-22T12:00:00Z, end: 2003-03-24T00:00:00Z, ratio: 3}"
    unaware = median_peak_of_the_first_day_of_the_sale(trace, tmp_path)
    aware = median_peak_of_the_first_day_of_the_sale(trace, tmp_path, "--events", events(tmp_path, sale))
    assert unaware == pytest.approx(3000 / 3600, rel=0.1)
    assert aware == pytest.approx(9000 / 3600, rel=0.1)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("- holidays: {country: ZZ, time_zone: UTC}", "events.0.holidays: country 'ZZ' is not known"),
        ("- {label: Sale, kind: sale, date: 2003-03-22, time_zone: UTC}", "events.0.kind: Input should be 'holiday'"),
    ],
)
def test_a_mistake_in_the_events__is_answered_before_anything_is_replayed(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, told: str
) -> None:
    out = tmp_path / "predictions.parquet"
    with pytest.raises(SystemExit) as ended:
        main(["forecast", "backtest", str(trace), "--out", str(out), "--events", events(tmp_path, text)])
    assert ended.value.code == 1
    said = " ".join(capsys.readouterr().err.split())
    assert told in said
    assert "events.yaml" in said
    assert not out.exists()
