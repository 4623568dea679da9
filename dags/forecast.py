"""Arrival history → forecasts of each source, whenever there is new history. Hands them on to `plan`."""

from airflow.sdk import dag, task

from forescale.orchestration.hand_off import ARRIVAL_HISTORY, FORECASTS, ONE_TOPOLOGY, RETRIES, topologies


@dag(
    dag_id="forecast",
    schedule=[ARRIVAL_HISTORY],
    max_active_runs=1,
    params={"topology": ONE_TOPOLOGY},
    default_args=RETRIES,
    tags=["forescale"],
    doc_md=__doc__,
)
def forecast_dag():
    @task(outlets=[FORECASTS], map_index_template="{{ task.op_kwargs['topology'] }}")
    def forecast(topology, outlet_events):
        from forescale.codec import handed_over
        from forescale.jobs.forecast import forecast as forecasted
        from forescale.settings import Settings

        forecasts = handed_over(forecasted(Settings(), topology))
        outlet_events[FORECASTS].extra = forecasts
        return forecasts

    forecast.expand(topology=topologies())


forecast_dag()
