"""The forecast job at two speeds, with one source that fails; and its forecasts made again from MLflow's record."""

import os
import shutil
import signal
from datetime import timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from integration.airflow.day_and_night import NAME, NOW, START, TOPOLOGY, calls_per_minute, install

import forecasting.fleet
from forecasting.arrivals.history import ArrivalSeries
from forecasting.arrivals.rows import history_rows
from forecasting.arrivals.store import write_history
from forecasting.drift import ForecastDrift
from forecasting.errors import ForecastError, TrackingError
from forecasting.forecast_file import read_forecast
from forecasting.tracking.mlflow_tracker import MlflowTracker
from forecasting.tracking.store_access import connected_client
from forecasting.trained import Trained
from forescale.cli.main import application
from forescale.jobs.deploy import deploy
from forescale.jobs.forecast import UNRECORDED, forecast
from forescale.jobs.plan import plan
from forescale.jobs.report import report
from forescale.jobs.reproduce import reproduce
from forescale.jobs.review import review
from forescale.settings import Settings
from forescale.situation.workspace import Workspace
from forescale.wiring.parts import ledger_of, tracker_of
from planner.clock import TraceClock
from planner.ledger.step_state import StepState

pytestmark = [pytest.mark.mlflow, pytest.mark.slow]

TWO_SOURCES = (
    TOPOLOGY.replace("  receive: { service_s: 0.01 }", "  receive: { service_s: 0.01 }\n  phone: { service_s: 0.01 }")
    .replace("  - { from: receive, to: work }", "  - { from: receive, to: work }\n  - { from: phone, to: work }")
    .replace("parallelism: { receive: 1,", "parallelism: { receive: 1, phone: 1,")
)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    settings = install(tmp_path).settings
    (settings.topologies / f"{NAME}.yaml").write_text(TWO_SOURCES)
    arrive(settings, 0)
    return settings


def arrive(settings: Settings, hours: int, silent: tuple[str, ...] = ()) -> None:
    """The history up to so many hours after NOW, to which the clock is set. silent: sources that were never alive."""
    end = NOW + timedelta(hours=hours)
    minutes = (end - START) // timedelta(minutes=1)
    counts = np.array([calls_per_minute(minute) for minute in range(minutes)], dtype=np.int64)
    rows = [
        history_rows(
            NAME,
            source,
            counts,
            np.empty((0, 2), dtype=np.int64) if source in silent else np.array([[0, 2**62]]),
            start=START,
            window_s=60,
        )
        for source in ("phone", "receive")
    ]
    write_history(pa.concat_tables(rows), settings.history_dir, NAME, START, end)
    TraceClock(settings.clock_file).start_at(end)


def test_what_was_trained__is_asked_until_it_is_too_old(settings: Settings) -> None:
    first = forecast(Workspace(settings), NAME)
    arrive(settings, 2)
    second = forecast(Workspace(settings), NAME)
    arrive(settings, 7)
    third = forecast(Workspace(settings), NAME)
    made = [read_forecast(each.forecasts["receive"]) for each in (first, second, third)]
    assert [each.trained_to for each in made] == [NOW, NOW, NOW + timedelta(hours=7)]
    assert [each.start for each in made] == [NOW, NOW + timedelta(hours=2), NOW + timedelta(hours=7)]
    assert [each.model_version for each in made] == [f"{NAME}/1", f"{NAME}/1", f"{NAME}/2"]
    assert len({each.run_id for each in made}) == 3
    assert tracker_of(settings).champion(NAME) == f"{NAME}/2"
    # Of two forecasts the hour was over, and the flat night held what had been said of it.
    assert "3600 s: the p95 held in 100.0% of 2 past forecasts" in made[2].notes
    # Both sources are one run.
    assert first.run_ids["receive"] == first.run_ids["phone"]


def test_forecasts__are_made_again_bit_for_bit_when_the_local_files_are_gone(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    with (settings.topologies / f"{NAME}.yaml").open("a") as file:
        file.write("\nsources: { phone: { timezone: Asia/Kathmandu } }\n")
    first = forecast(Workspace(settings), NAME)
    arrive(settings, 2)
    second = forecast(Workspace(settings), NAME)
    kept = read_forecast(first.forecasts["receive"])
    for folder in ("trained", "forecasts"):
        shutil.rmtree(settings.home / folder)
    trained, asked = (reproduce(Workspace(settings), each.run_ids["receive"]) for each in (first, second))
    assert {source: one.same for source, one in trained.sources.items()} == {"receive": True, "phone": True}
    assert {one.how for one in trained.sources.values()} == {"trained anew"}
    assert {source: one.same for source, one in asked.sources.items()} == {"receive": True, "phone": True}
    assert {one.how for one in asked.sources.values()} == {f"asked of model version {NAME}/1"}
    assert trained.history_snapshot == kept.history_snapshot
    assert not (settings.home / "forecasts").exists()
    with pytest.raises(SystemExit) as ended:
        application("forecast", "reproduce")(["forecast", "reproduce", first.run_ids["receive"]], obj=settings)
    assert ended.value.code == 0
    assert "receive: the same (trained anew" in " ".join(capsys.readouterr().out.split())


def test_a_run_that_is_not_there__is_named(settings: Settings) -> None:
    forecast(Workspace(settings), NAME)
    with pytest.raises(TrackingError, match=r"fetching the request of run 0123"):
        reproduce(Workspace(settings), "0123")


def test_a_source_that_fails__is_named_and_hurts_no_other(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    arrive(settings, 0, silent=("phone",))
    told = forecast(Workspace(settings), NAME)
    assert told.forecasts.keys() == {"receive"}
    assert "no window of the history was observed" in told.failures["phone"]
    assert {entry.source for entry in ledger_of(settings).forecasts(NAME)} == {"receive"}
    with pytest.raises(SystemExit):
        application("forecast", "run")(["forecast", NAME], obj=settings)
    assert "phone is not forecast: source 'phone'" in " ".join(capsys.readouterr().out.split())
    page = (settings.reports_dir / "forecasts.html").read_text()
    assert "no window of the history was observed" in page


def test_no_source_that_can_be_forecast__is_an_error(settings: Settings) -> None:
    arrive(settings, 0, silent=("phone", "receive"))
    with pytest.raises(ForecastError, match=r"no source of day-and-night can be forecast: .*receive: "):
        forecast(Workspace(settings), NAME)


def test_many_sources__are_forecast_over_spark_with_the_same_numbers(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = forecast(Workspace(settings), NAME)
    before = {source: read_forecast(folder) for source, folder in here.forecasts.items()}
    # The reports go too: a ledger that is gone beside them is refused as lost.
    for folder in ("trained", "forecasts", "reports", "ledger.db"):
        path = settings.home / folder
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    import forecasting.arrivals.spark_session as sessions

    # The session of the tests goes on: the job's own would be stopped at its end.
    running = sessions.spark_session("local[2]", "tests")
    monkeypatch.setattr(type(running), "__exit__", lambda *_: None)
    there = forecast(Workspace(settings.model_copy(update={"fan_out_from": 2})), NAME)
    for source, folder in there.forecasts.items():
        assert np.array_equal(read_forecast(folder).paths_per_s, before[source].paths_per_s)


def test_a_store_that_refuses_at_the_end__leaves_nothing_that_names_the_batch(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise TrackingError("no space left on the device")

    with monkeypatch.context() as broken:
        broken.setattr(MlflowTracker, "_promote", full)
        with pytest.raises(TrackingError, match="no space left"):
            forecast(Workspace(settings), NAME)
    assert tracker_of(settings).champion(NAME) == ""
    assert ledger_of(settings).forecasts(NAME) == []
    made = forecast(Workspace(settings), NAME)
    kept = read_forecast(made.forecasts["receive"])
    # Trained anew: what the batch before it had trained was of a version that is gone.
    assert kept.model_version == tracker_of(settings).champion(NAME)


def test_what_a_killed_job_trained__is_never_asked(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    (settings.topologies / f"{NAME}.yaml").write_text(TOPOLOGY)
    tracker_of(settings).champion(NAME)  # the store is there
    if (child := os.fork()) == 0:
        try:
            # All is trained and forecast, and the version has nothing in it yet.
            monkeypatch.setattr(MlflowTracker, "finish", lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))
            forecast(Workspace(settings), NAME)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert [path.name for path in (settings.home / "trained" / NAME / UNRECORDED).iterdir()] != []
    arrive(settings, 2)
    made = read_forecast(forecast(Workspace(settings), NAME).forecasts["receive"])
    assert made.trained_to == NOW + timedelta(hours=2)
    assert made.model_version == tracker_of(settings).champion(NAME)
    assert tracker_of(settings).fetch_trained(made.model_version, settings.home / "fetched").keys() == {"receive"}
    assert not list((settings.home / "trained" / NAME / UNRECORDED).iterdir())


def test_a_store_that_is_away_when_a_batch_fails__does_not_hide_the_first_error(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object, **__: object) -> None:
        raise TrackingError("MLflow does not answer")

    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(MlflowTracker, "abandon", away)
    monkeypatch.setattr(MlflowTracker, "finish", stopped)
    with pytest.raises(KeyboardInterrupt):
        forecast(Workspace(settings), NAME)


def test_mlflow_that_is_away__stops_forecasts_alone_and_is_caught_up_with(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    # The simulator knows the arrivals of one source.
    (settings.topologies / f"{NAME}.yaml").write_text(TOPOLOGY)
    run_id = forecast(Workspace(settings), NAME).run_ids["receive"]
    away = settings.model_copy(update={"mlflow_uri": "http://127.0.0.1:9"})
    arrive(settings, 1)
    with pytest.raises(TrackingError, match="does not answer"):
        forecast(Workspace(away), NAME)
    ledger = ledger_of(settings)
    assert {entry.run_id for entry in ledger.forecasts(NAME)} == {run_id}

    schedule_id = plan(Workspace(away), NAME).schedule_id
    review(Workspace(away), schedule_id, approve=True, by="test")
    step = ledger.steps(schedule_id=schedule_id)[0]
    TraceClock(settings.clock_file).advance_to(step.deploy_at)
    deploy(Workspace(away), step.id)
    assert ledger.step(step.id).state is StepState.VERIFIED
    assert f"schedule {schedule_id} and its report are not in MLflow" in caplog.text

    # It is back: the report makes up for the links and the outcome, and the next forecast is made as ever.
    report(Workspace(settings), schedule_id)
    client = connected_client(tracker_of(settings).tracking_uri)
    tags = client.get_run(run_id).data.tags
    assert tags["schedule"] == schedule_id
    assert tags["outcome 1"].startswith("verified")
    assert [Path(kept.path).stem for kept in client.list_artifacts(run_id, "reports")] == [schedule_id]
    assert forecast(Workspace(settings), NAME).run_ids["receive"] != run_id


def test_a_demotion_that_cannot_be_tagged__costs_no_forecast(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    forecast(Workspace(settings), NAME)
    arrive(settings, 2)
    alarm = ForecastDrift(3600, True, "the p95 held in 3 of 30 windows", 0.1, 1.5, 3.0, 30)
    monkeypatch.setattr("forescale.jobs.forecast.drifts_by_source", lambda *_: {"receive": (alarm,)})

    def refuses(*_: object, **__: object) -> None:
        raise TrackingError("INVALID_PARAMETER_VALUE")

    with monkeypatch.context() as broken:
        broken.setattr(MlflowTracker, "demote", refuses)
        told = forecast(Workspace(settings), NAME)
    made = read_forecast(told.forecasts["receive"])
    assert "3600 s: demoted, the p95 held in 3 of 30 windows" in made.notes
    assert tracker_of(settings).champion(NAME) == f"{NAME}/1"
    # With a store that takes it, the version says so.
    arrive(settings, 3)
    forecast(Workspace(settings), NAME)
    tags = connected_client(tracker_of(settings).tracking_uri).get_model_version(NAME, "1").tags
    assert tags["demoted receive 3600 s"] == "the p95 held in 3 of 30 windows"


def test_a_source_that_can_never_be_trained__makes_no_other_train(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = forecasting.fleet.train

    def train(series: ArrivalSeries, **more: object) -> Trained:
        if series.source == "phone":
            raise ForecastError("nothing can be learnt from it")
        return real(series, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(forecasting.fleet, "train", train)
    first = forecast(Workspace(settings), NAME)
    arrive(settings, 1)
    second = forecast(Workspace(settings), NAME)
    assert second.failures == {"phone": "nothing can be learnt from it"}
    made = [read_forecast(each.forecasts["receive"]) for each in (first, second)]
    assert [each.trained_to for each in made] == [NOW, NOW]
    assert [each.model_version for each in made] == [f"{NAME}/1", f"{NAME}/1"]
    # No version is left of the training that gave nothing.
    assert tracker_of(settings).champion(NAME) == f"{NAME}/1"
    # Once it can be trained, the new version holds both.
    monkeypatch.setattr(forecasting.fleet, "train", real)
    arrive(settings, 2)
    third = forecast(Workspace(settings), NAME)
    champion = tracker_of(settings).champion(NAME)
    assert read_forecast(third.forecasts["phone"]).model_version == champion
    assert read_forecast(third.forecasts["receive"]).model_version == f"{NAME}/1"
    assert tracker_of(settings).fetch_trained(champion, settings.home / "fetched").keys() == {"phone", "receive"}
    run = third.run_ids["phone"]
    assert {source: one.same for source, one in reproduce(Workspace(settings), run).sources.items()} == {
        "phone": True,
        "receive": True,
    }


def test_a_forecast_whose_files_are_gone_or_damaged__is_made_again(settings: Settings) -> None:
    first = forecast(Workspace(settings), NAME)
    folder = first.forecasts["receive"]
    (folder / "forecast.json").write_text("{")
    [trained] = (settings.home / "trained" / NAME).glob("phone-*")
    (trained / "arrays.npy").write_bytes(b"")
    assert read_forecast(Path(forecast(Workspace(settings), NAME).forecasts["receive"])).source == "receive"
    arrive(settings, 1)
    assert forecast(Workspace(settings), NAME).failures == {}
