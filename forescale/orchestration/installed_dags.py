"""The DAGs of the installed package as a DAG bundle: for an Airflow whose machines have forescale installed."""

from typing import Any

from airflow.dag_processing.bundles.local import LocalDagBundle

from forescale.places import bundled


class InstalledDags(LocalDagBundle):
    """An entry of Airflow's setting [dag_processor] dag_bundle_config_list; takes no arguments.

    Each machine finds the files in its own Python environment, so they always fit the installed package.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(path=str(bundled("dags")), **kwargs)
