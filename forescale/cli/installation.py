"""The border between the environment and the commands: settings are read here, once a command, and passed on."""

import typer

from forescale.settings import Settings


def settings_of(context: typer.Context) -> Settings:
    """What the environment (FORESCALE_…) says, or the Settings that the app was started with as its `obj`."""
    return context.ensure_object(Settings)
