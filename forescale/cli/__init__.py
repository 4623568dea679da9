"""The command line `forescale`: one module a command, the entry point in `main`."""

from forescale.cli.main import main

__all__ = ["main"]
