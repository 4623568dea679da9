"""The topology that a command is about: named, completed by the shell, or the only one there is."""

from typing import Annotated

import typer

from forescale.cli.installation import settings_of

HELP = "Topology file, or its name in the folder of topology files."
ONLY = "the only one of that folder"


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
