"""What an MLflow run says of a forecast."""

from dataclasses import replace

from sample_forecast import small_forecast

from forecasting.tracking.run_content import run_params, run_tags


def test_run__names_the_commit_of_the_history_where_there_is_one() -> None:
    made = small_forecast(horizon_s=3600)
    assert "history_snapshot" not in run_params(made)
    assert "history_snapshot" not in run_tags(made)
    stored = replace(made, forecast=replace(made.forecast, history_snapshot="0123456789abcdef"))
    assert run_params(stored)["history_snapshot"] == "0123456789abcdef"
    assert run_tags(stored)["history_snapshot"] == "0123456789abcdef"
    assert run_params(stored)["history_digest"] == made.forecast.history_digest
