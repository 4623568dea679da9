"""Arrival history → forecasts of each source, whenever there is new history. New forecasts start `plan`."""

from airflow.sdk import dag, task, task_group

from forescale.orchestration.hand_off import (
    ARRIVAL_HISTORY,
    FORECASTS,
    ONE_TOPOLOGY,
    RETRIES,
    fail_the_run,
    plan_anyway,
    topologies,
)


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
    @task_group
    def each(topology):
        @task(outlets=[FORECASTS], map_index_template="{{ task.op_kwargs['topology'] }}")
        def forecast(topology, outlet_events):
            from forescale.codec import handed_over
            from forescale.jobs.forecast import forecast as forecasted
            from forescale.settings import Settings
            from forescale.situation.workspace import Workspace

            forecasts = handed_over(forecasted(Workspace(Settings()), topology))
            outlet_events[FORECASTS].extra = forecasts
            return forecasts

        done = forecast(topology=topology)
        done >> plan_anyway(topology=topology)
        return done

    each.expand(topology=topologies()) >> fail_the_run()


forecast_dag()
