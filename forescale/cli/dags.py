"""`forescale config dags`: connect an existing Airflow to the DAGs."""

import json
from pathlib import Path
from typing import Annotated

import typer

from forescale.cli.options import new_folder
from forescale.cli.output import AsJson, plain, say_json

BUNDLE = {"name": "forescale", "classpath": "forescale.orchestration.installed_dags.InstalledDags", "kwargs": {}}


def dags(
    folder: Annotated[
        Path | None, typer.Argument(help="Folder for links to the DAG files.", parser=new_folder, metavar="FOLDER")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Link the DAGs into a folder that Airflow reads.

    Without a folder, prints the DAG bundle for Airflow's settings.
    """
    from forescale.local.airflow.dag_links import link_dags

    links = [] if folder is None else link_dags(folder)
    if as_json:
        say_json({"links": {str(link): str(link.readlink()) for link in links}, "bundle": BUNDLE})
        return
    for link in links:
        plain(f"{link} → {link.readlink()}")
    if folder is None:
        plain("add this entry to [dag_processor] dag_bundle_config_list in Airflow's settings (docs/airflow.md):")
        plain(json.dumps(BUNDLE))
