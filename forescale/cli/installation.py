"""The border between the environment and the commands: settings are read here, once a command, and passed on."""

from typing import TYPE_CHECKING

import typer

from forescale.settings import Settings

if TYPE_CHECKING:
    from forescale.situation.workspace import Workspace


def settings_of(context: typer.Context) -> Settings:
    """What the environment (FORESCALE_…) says, or the Settings that the app was started with as its `obj`."""
    return context.ensure_object(Settings)


def workspace_of(context: typer.Context) -> "Workspace":
    """The one workspace of a command, on its settings."""
    from forescale.situation.workspace import Workspace  # not for a command's usage

    return Workspace(settings_of(context))
