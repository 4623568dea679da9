"""`forescale config`: make a home, check settings and topology files, print schemas of files."""

import shlex
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from pydantic import BaseModel

from forescale.cli.installation import settings_of
from forescale.cli.options import new_folder
from forescale.cli.output import AsJson, console, plain, say_json, table
from forescale.files.file_error import FileError
from forescale.files.fleet import FleetEntry
from forescale.files.plan import PlanEntry
from forescale.files.profile import ProfilesEntry
from forescale.files.samples import SamplesEntry
from forescale.files.site import SiteEntry
from forescale.files.topology import TopologyConfig, find_topology_file, read_topology_file

KINDS: dict[str, type[BaseModel]] = {
    "topology": TopologyConfig,
    "fleet": FleetEntry,
    "plan": PlanEntry,
    "profile": ProfilesEntry,
    "samples": SamplesEntry,
    "site": SiteEntry,
}


def check(
    context: typer.Context,
    topologies: Annotated[list[str] | None, typer.Argument(help="Files or names; all in the folder if none.")] = None,
    as_json: AsJson = False,
) -> None:
    """Read every topology file and say what is wrong.

    Field by field, and exits with 1 if anything is; without names, those of the folder. Shows the settings in force.
    """
    settings = settings_of(context)
    names = topologies or sorted(path.stem for path in settings.topologies.glob("*.yaml"))
    if not names:
        raise FileError(
            f"no topology file (*.yaml) in {settings.topologies}; add one, or set FORESCALE_TOPOLOGIES to their folder"
        )
    problems: dict[str, str] = {}
    for name in names:
        try:
            read_topology_file(find_topology_file(name, settings.topologies))
        except FileError as error:
            problems[name] = str(error)
    if as_json:
        say_json({"settings": settings.shown(), "problems": problems, "checked": names})
    else:
        console.print(table("settings (FORESCALE_…)", ["setting", "value"], settings.shown().items()))
        for name in names:
            plain(f"{name}: {problems.get(name, 'good')}")
    if problems:
        raise typer.Exit(1)


def init(
    context: typer.Context,
    folder: Annotated[
        Path | None, typer.Argument(help="Folder to make; FORESCALE_HOME if none.", parser=new_folder, metavar="FOLDER")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a home: settings, topologies/, dags/ and examples/.

    dags/ has links to the DAGs. What is there already stays as it is.
    """
    from forescale.local.home_folder import make_home

    done = make_home((folder or settings_of(context).home).absolute())
    if as_json:
        say_json({"home": str(done.home), "made": done.made, "kept": done.kept})
        return
    if done.made:
        plain(f"made in {done.home}: {', '.join(done.made)}")
    if done.kept:
        plain(f"left as it was in {done.home}: {', '.join(done.kept)}")
    plain(f"next: export FORESCALE_HOME={shlex.quote(str(done.home))}; forescale init --help; forescale up --help")


Kind = Literal["topology", "fleet", "plan", "profile", "samples", "site"]


def schema(kind: Annotated[Kind, typer.Argument(help="Kind of file.")]) -> None:
    """Print the JSON schema of a kind of file.

    For editors, and for programs that write such files.
    """
    say_json(file_schema(kind))


def file_schema(kind: str) -> dict[str, Any]:
    """The schema of a kind of file, one of KINDS (JSON Schema 2020-12)."""
    schema = KINDS[kind].model_json_schema(by_alias=True)
    for part in schema.get("$defs", {}).values():
        if "description" in part:
            # Doctests in a class's docstring are for readers of the code.
            part["description"] = part["description"].partition("\n\n>>>")[0]
    if profile := schema.get("$defs", {}).get("OperatorProfile"):
        # The operator's name is its key.
        del profile["properties"]["operator"]
        profile["required"].remove("operator")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": f"forescale {kind} file"}
