"""The pages of docs/reference that follow from the code: `python scripts/reference_pages.py` writes them again."""

import re
from pathlib import Path
from textwrap import fill

import typer
from typer.cli import get_docs_for_click
from typer.main import get_command

from forescale.cli.commands import COMMANDS, Group
from forescale.cli.main import application
from forescale.settings import Settings
from forescale.settings_file import PREFIX

WIDTH = 100
EVERYWHERE = ("* `--help`: ", "* `--json`: Answer as one JSON document.")
"""Options of every command, which the head of the page names once."""
FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference"
CLI_HEAD = """# Command line

After this page you know every command and option. Besides those listed, each has
`--help`, which says the same, and `--json`, which answers as one JSON document.

"""
SETTINGS_HEAD = """# Settings

After this page you can set everything that is not in a topology file, as environment variables or
lines of `forescale.env` in the home; the environment has precedence. `forescale config check` lists
what is in force.

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
    command, entry = root.commands[name], COMMANDS[name]
    if isinstance(entry, Group):
        assert isinstance(command, typer.core.TyperGroup)
        for word in entry.commands:
            group = get_command(application(name, word)).commands[name]  # type: ignore[attr-defined]
            command.commands[word] = group.commands[word]
    context = typer.Context(root, info_name="forescale")
    text = get_docs_for_click(obj=command, ctx=context, indent=1, name=name, call_prefix="forescale")
    lines = [_wrapped(line) for line in text.splitlines() if not line.startswith(EVERYWHERE)]
    text = re.sub(r"\*\*Options\*\*:\n+(?!\*)", "", "\n".join(lines) + "\n")
    return re.sub(r"\*\*Commands\*\*:\n\n(?:[* ] .*\n)+\n", "", text)  # each follows under a heading of its own


def _wrapped(line: str) -> str:
    """A line of prose or of a list at the width of the pages; examples, in indented or fenced code, are shorter."""
    indent = "  " if line.startswith("* ") else ""
    return fill(line, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False) or line


def _setting(name: str) -> str:
    field = Settings.model_fields[name]
    default = "" if field.default_factory or field.default is None else f"`{field.default}`"
    return f"| `{PREFIX}{name.upper()}` | {field.description} | {default} |\n"


if __name__ == "__main__":
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
