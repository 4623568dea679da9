"""Arguments and options that commands share; the topology is named, completed by the shell, or the only one."""

from pathlib import Path
from typing import Annotated

import typer

from forescale.cli.installation import settings_of

HELP = "Topology file, or its name in the folder of topology files."
ONLY = "the only one of that folder"

Override = Annotated[
    bool,
    typer.Option(
        "--override",
        help="Pass max_step, scale_out_only, min_parallelism, max_rescales_a_day, freeze or windows; needs --why.",
    ),
]

From = Annotated[str | None, typer.Option("--from", help="ISO time, UTC where it has no offset.")]
To = Annotated[str | None, typer.Option("--to", help="ISO time; the end of the history if absent.")]
Days = Annotated[float | None, typer.Option(help="How many days: up to --to, or from --from on; 7 if absent.")]
SnapshotId = Annotated[str | None, typer.Option("--snapshot", help="Id of a past commit; the one in force if absent.")]


def only_topology(context: typer.Context, named: str | None) -> str | None:
    """The name that is asked for, or without one that of the only topology file. Raises BadParameter where there are
    several, or none.
    """
    if named is not None or context.resilient_parsing:
        return named
    match topology_names(context):
        case [name]:
            return name
        case []:
            folder = settings_of(context).topologies
            raise typer.BadParameter(f"there is no topology file (*.yaml) in {folder}; `forescale init` writes one")
        case names:
            raise typer.BadParameter(f"name one of {', '.join(names)}")


def topology_names(context: typer.Context) -> list[str]:
    """Names of the topology files of the folder, sorted; without reading them."""
    return sorted(path.stem for path in settings_of(context).topologies.glob("*.yaml"))


def completed(context: typer.Context, incomplete: str) -> list[str]:
    """Names that begin so."""
    return [name for name in topology_names(context) if name.startswith(incomplete)]


def _unnamed() -> None:
    """What `only_topology` gets where no name is given; an empty one, of an unset variable, is refused as any other."""


TopologyName = Annotated[
    str,
    typer.Argument(
        default_factory=_unnamed, callback=only_topology, show_default=ONLY, help=HELP, autocompletion=completed
    ),
]
NamedTopology = Annotated[str, typer.Argument(help=HELP, autocompletion=completed)]
"""Where other arguments follow it."""
SomeTopology = Annotated[str | None, typer.Argument(help=f"{HELP} All if absent.", autocompletion=completed)]


def new_folder(name: str) -> Path:
    """A folder that a command writes to. Raises typer.BadParameter for an empty name, as of a variable that is not set:
    it is never the current folder.
    """
    if not str(name).strip():
        raise typer.BadParameter("the name of the folder is empty; name one, . for the current one")
    return Path(name)
