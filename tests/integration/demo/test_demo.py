"""The main job as `make demo` runs it: a real trace, Spark, Airflow runs and MLflow; the cluster is simulated."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from canaries import canaries_below, canaries_in, planted_settings

from forecasting.forecast_file import read_forecast
from forescale.local.demo.run import DemoResult, fresh_home, run_demo
from forescale.settings import Settings
from forescale.situation.workspace import Workspace
from planner.ledger.step_state import StepState
from planner.limits import MAX_UTILISATION
from planner.scaling_schedule import AlternativeKind

pytestmark = [pytest.mark.airflow, pytest.mark.spark, pytest.mark.mlflow, pytest.mark.slow]


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    folder = tmp_path_factory.mktemp("demo")
    planted = planted_settings("ledger_url", "mlflow_uri", "airflow_database_url")
    with pytest.MonkeyPatch.context() as environment:
        for name, value in planted.items():
            environment.setenv(name, value)
        return Settings(home=folder / "home", mlruns=folder / "mlruns", clock="trace", review=False, schedule="none")


@pytest.fixture(scope="module")
def progress() -> list[tuple[str, str]]:
    """What the demo said so far: stage and text."""
    return []


@pytest.fixture(scope="module")
def result(settings: Settings, progress: list[tuple[str, str]]) -> Iterator[DemoResult]:
    with fresh_home(settings):
        yield run_demo(settings, lambda stage, text: progress.append((stage, text)))


def planned_per_s(result: DemoResult, source: str) -> np.ndarray:
    """Per minute of the record, the load of that source which the plan in force was chosen for; NaN before the
    first.
    """
    planned = np.full(result.after.minute.shape, np.nan)
    for step in result.schedule.schedule.steps:
        begin, end = (np.datetime64(int(at.timestamp()), "s") for at in (step.needed_from, step.needed_until))
        planned[(result.after.minute >= begin) & (result.after.minute < end)] = step.load_per_s[source]
    return planned


def test_history__counts_every_call_once(result: DemoResult, settings: Settings) -> None:
    from forecasting.arrivals.store import read_history

    history = read_history(settings.history_dir, "call-analytics").source("ingest")
    assert np.nansum(history.counts) == result.data.calls
    assert result.data.rows > result.data.calls


def test_airflow__needs_one_trigger_and_a_clock(result: DemoResult, progress: list[tuple[str, str]]) -> None:
    stages = ("aggregate", "forecast", "plan")
    came = [(stage, text) for stage, text in progress if stage in stages]
    assert came == [(stage, text) for stage in stages for text in ("started", "done")]
    assert sum(stage == "deploy" and text.startswith("verified: ") for stage, text in progress) == len(result.steps)


def test_every_step__is_verified(result: DemoResult) -> None:
    assert result.steps
    assert {step.state for step in result.steps} == {StepState.VERIFIED}


def test_every_larger_plan__is_in_place_before_the_load_that_needs_it(result: DemoResult, settings: Settings) -> None:
    from forescale.wiring.parts import ledger_of

    ledger = ledger_of(settings)
    larger = 0
    for step, scheduled in zip(result.steps, result.schedule.schedule.steps, strict=True):
        outcome = ledger.outcome(step.id)
        assert outcome is not None
        assert outcome.verified_at is not None
        assert outcome.predicted["downtime_s"] == scheduled.downtime_s
        if step.plan.instances > step.replaces.instances:
            larger += 1
            assert outcome.verified_at < scheduled.needed_from
    assert larger


def test_simulator__saw_no_violation_where_the_forecast_held(result: DemoResult) -> None:
    after = result.after
    came_per_s = after.offered["ingest"] / 60
    planned = planned_per_s(result, "ingest")
    held = ~(came_per_s > planned)
    assert held.mean() > 0.5
    violated = np.isin(after.minute, after.violations(result.max_lag_s))
    assert not (violated & held).any()


def test_schedule__costs_less_than_a_static_plan_for_the_peak(result: DemoResult) -> None:
    static = next(a for a in result.schedule.schedule.alternatives if a.kind is AlternativeKind.STATIC)
    assert result.after.instance_hours < static.cost_instance_hours


def test_schedule__keeps_its_budget_by_its_own_estimate(result: DemoResult) -> None:
    schedule = result.schedule.schedule
    assert schedule.allowed_minutes is not None
    assert schedule.violation_minutes <= schedule.allowed_minutes


def test_no_step__is_planned_above_95_per_cent_of_saturation_at_the_planned_peak(result: DemoResult) -> None:
    """The demo's guard advises and does not act."""
    factors = [step.headroom_factor for step in result.schedule.schedule.steps]
    assert min(factors) >= 1 / MAX_UTILISATION * (1 - 1e-9)


def test_calibration__found_out_the_simulators_own_service_time(result: DemoResult, settings: Settings) -> None:
    from forescale.files.profile import read_profile_file

    profiles = read_profile_file(settings.home / "profiles" / "call-analytics.json")
    # the topology file declares 8.0 s, the simulator works with 8.4 s
    assert profiles["transcribe"].service_s == pytest.approx(8.4, rel=0.01)


def test_mlflow__holds_all_of_the_forecast_and_what_became_of_it(result: DemoResult, settings: Settings) -> None:
    from mlflow import MlflowClient

    client = MlflowClient(settings.tracking_uri)
    (entry,) = result.forecasts
    run = client.get_run(entry.run_id)
    assert client.get_experiment(run.info.experiment_id).name == "call-analytics"
    told = {**run.data.params, **run.data.tags}
    assert entry.history_digest in told.values()
    assert run.data.tags["schedule"] == result.schedule.id
    assert all(f"outcome {step.position}" in run.data.tags for step in result.steps)
    name, _, version = entry.model_version.partition("/")
    assert str(client.get_model_version_by_alias(name, "champion").version) == version
    folders = ("forecasts/00000", "reports")
    kept = {file.path for folder in folders for file in client.list_artifacts(entry.run_id, folder)}
    assert any(path.endswith(".png") for path in kept)
    assert any(path.endswith(f"{result.schedule.id}.html") for path in kept)


def test_no_file_and_no_row__holds_a_secret(result: DemoResult, settings: Settings) -> None:
    assert settings.airflow_password is not None
    assert canaries_in(settings.airflow_password.get_secret_value())
    assert result.report.is_relative_to(settings.home)
    assert canaries_below(settings.home, settings.mlruns) == {}


def test_report__tells_what_happened(result: DemoResult) -> None:
    page = result.report.read_text(encoding="utf-8")
    assert "What happened" in page
    assert result.schedule.id in page


def test_jobs__run_again_give_the_same_rows_once(result: DemoResult, settings: Settings) -> None:
    from forescale.jobs.deploy import deploy
    from forescale.jobs.forecast import forecast
    from forescale.jobs.newest_forecasts import newest_forecasts
    from forescale.wiring.parts import clock_of, ledger_of, topology_config
    from planner.clock import TraceClock

    ledger = ledger_of(settings)
    before = (ledger.forecasts("call-analytics"), ledger.steps(topology="call-analytics"))
    assert deploy(Workspace(settings), result.steps[0].id).state is StepState.VERIFIED
    clock = clock_of(settings)
    assert isinstance(clock, TraceClock)
    clock.start_at(result.data.now)
    again = forecast(Workspace(settings), "call-analytics")
    assert set(again.run_ids.values()) == {entry.run_id for entry in result.forecasts}
    assert (ledger.forecasts("call-analytics"), ledger.steps(topology="call-analytics")) == before
    (newest,) = newest_forecasts(topology_config("call-analytics", settings), ledger).values()
    assert read_forecast(Path(newest.folder)).run_id == newest.run_id
