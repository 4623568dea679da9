"""The pages of docs/reference that follow from the code: `python scripts/reference_pages.py` writes them again."""

from pathlib import Path

import typer
from typer.cli import get_docs_for_click
from typer.main import get_command

from forescale.cli.main import COMMANDS, application
from forescale.settings import PREFIX, Settings

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference"
CLI_HEAD = (
    "# Command line\n\nEvery command accepts `--json`. `forescale COMMAND --help` says the same as this page.\n\n"
)
SETTINGS_HEAD = """# Settings

Environment variables, or lines of `forescale.env` in the home; the environment has precedence.
`forescale config check` lists what is in force.

| variable | what it says | default |
|---|---|---|
"""


def pages() -> dict[str, str]:
    """The text of each page, by file name."""
    return {
        "cli.md": CLI_HEAD + "\n".join(_command(name).strip() + "\n" for name in COMMANDS),
        "settings.md": SETTINGS_HEAD + "".join(_setting(name) for name in Settings.model_fields),
    }


def _command(name: str) -> str:
    root = get_command(application(name))
    assert isinstance(root, typer.core.TyperGroup)
    context = typer.Context(root, info_name="forescale")
    command = root.get_command(context, name)
    assert command is not None
    return get_docs_for_click(obj=command, ctx=context, indent=1, name=name, call_prefix="forescale")


def _setting(name: str) -> str:
    field = Settings.model_fields[name]
    default = "" if field.default_factory or field.default is None else f"`{field.default}`"
    return f"| `{PREFIX}{name.upper()}` | {field.description} | {default} |\n"


if __name__ == "__main__":
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
