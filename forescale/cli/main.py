"""The entry point: imports the command that is asked for, and turns expected errors into one line and an exit code."""

import gc
import os
import re
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from importlib.metadata import version
from typing import Annotated, Any

import typer
import typer.main
from pydantic import ValidationError
from pydantic_settings import SettingsError
from typer.core import TyperGroup

from engines.deadline import calls_go_on
from engines.redaction import without_logins
from forescale.cli.commands import PANELS, Command, asked, with_present_names
from forescale.cli.output import say_in_any_encoding, say_json
from forescale.codec import to_json
from forescale.files.shown import shown
from forescale.plain_numbers import is_plain
from forescale.setting_checks import setting_shown
from forescale.settings_file import PREFIX

COLLECTED_AFTER = 50_000
"""New objects until Python looks for cycles among them. Its own 700 (2,000 since 3.12) costs a command a quarter of the
time of its imports, whose objects all stay.
"""


def application(*words: str) -> typer.Typer:
    """The application with the command of these words imported. The others have only their help line: one run calls
    one command.
    """
    app = typer.Typer(
        name="forescale",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
    )
    app.callback()(_forescale)
    for panel, entries in PANELS.items():
        for name, entry in entries.items():
            if isinstance(entry, Command):
                _add(app, entry, (name,), words, panel)
                continue
            if name not in words[:1]:
                app.command(name, help=entry.line, rich_help_panel=panel)(_not_imported)
                continue
            line = f"{entry.line}\n\nWithout one of these commands: {entry.default}." if entry.default else entry.line
            group = typer.Typer(help=line, no_args_is_help=not entry.default, cls=group_with(entry.default))
            for word, command in entry.commands.items():
                _add(group, command, (name, word), words)
            app.add_typer(group, name=name, rich_help_panel=panel)
    return app


def _add(
    app: typer.Typer, command: Command, words: tuple[str, ...], asked_for: Sequence[str], panel: str | None = None
) -> None:
    if words != tuple(asked_for):
        app.command(words[-1], help=command.line, rich_help_panel=panel)(_not_imported)
        return
    module = import_module(f"forescale.cli.{command.module or '_'.join(words)}")
    app.command(words[-1], rich_help_panel=panel)(getattr(module, command.function or words[-1]))


def _show_version(asked: bool) -> None:
    if asked:
        print(f"forescale {version('forescale')}")
        raise typer.Exit


def _forescale(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="The release.")
    ] = False,
) -> None:
    """Pre-emptive scaling of stream-processing topologies: have each plan in place before its load arrives."""


def _not_imported() -> None:
    raise AssertionError("a command that was not requested has run")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command. Exits with 0, with 1 after an error (one line on standard error), or with 2 for wrong usage.

    arguments: those of the process if omitted, which then ends.
    """
    if arguments is not None:
        _run(list(arguments))
        return
    try:
        _run(sys.argv[1:])
    except SystemExit as ended:
        if calls_go_on():
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1)
        raise


def _run(given: list[str]) -> None:
    gc.set_threshold(COLLECTED_AFTER)
    say_in_any_encoding()
    try:
        _check_text(given)
        given, note = with_present_names(given)
        if note:
            print(f"forescale: {note}", file=sys.stderr)
        command = typer.main.get_command(application(*asked(given or _words_to_complete())))
        _take_plain_numbers(command)
        command(args=given, prog_name="forescale")
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        message = _expected(error)
        if message is None:
            raise
        message = without_logins(message)
        if "--json" in given:
            say_json({"error": message, **_facts(error)})
        print(f"forescale: {message}", file=sys.stderr)
        sys.exit(1)


def _words_to_complete() -> list[str]:
    """The words after the program's name, where a shell asks what could follow them; bash has another variable."""
    return (os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS", "")).split()[1:]


def _facts(error: Exception) -> dict[str, object]:
    """What machines may read of an error beside its text."""
    from planner.edit_facts import OverrideError
    from planner.limits import BoundError

    match error:
        case BoundError():
            excess = error.excess
            of = {"operator": excess.operator} if excess.operator else {}
            return {"field": excess.field, **of, "value": excess.value, "bound": excess.bound}
        case OverrideError():
            return {"passed": [to_json(limit) for limit in error.passed]}
    return {}


def _take_plain_numbers(command: Any) -> None:
    """Let options that are numbers refuse 1_0, which Python reads as 10."""
    for each in getattr(command, "commands", {}).values():
        _take_plain_numbers(each)
    for parameter in command.params:
        if re.search(r"int|float", str(parameter.type_descriptor.annotation)):
            parameter.process_value = partial(_plain_number, parameter, parameter.process_value)


def _plain_number(parameter: Any, process: Callable[[Any, Any], Any], context: Any, value: Any) -> Any:
    for text in (value,) if isinstance(value, str) else value or () if isinstance(value, list | tuple) else ():
        if isinstance(text, str) and not is_plain(text):
            raise typer.BadParameter(f"{shown(text)} is no number in digits alone", context, param=parameter)
    return process(context, value)


def _check_text(arguments: Sequence[str]) -> None:
    """Raises FileError for an argument with a null byte or invalid UTF-8, which no path or message could hold."""
    for number, word in enumerate(arguments, start=1):
        try:
            word.encode()
            wrong = "holds a null byte; leave it out" if "\0" in word else ""
        except UnicodeEncodeError:
            wrong = "is not UTF-8; rename what it names, or set the locale to UTF-8"
        if wrong:
            from forescale.files.file_error import FileError  # with the model's errors, and so with numpy

            raise FileError(f"argument {number} {shown(word)} {wrong}")


def _expected(error: Exception) -> str | None:
    """An expected error as one line; None for any other, which is a defect and shows its traceback."""
    from forescale.cli.expected import EXPECTED

    if isinstance(error, EXPECTED):
        return str(error)
    if isinstance(error, OSError):
        where = error.filename or "a file"
        return f"{where}: {error.strerror or error}; check the path, its permissions and FORESCALE_HOME"
    if isinstance(error, SettingsError):
        cause = f": {error.__cause__}" if error.__cause__ is not None else ""
        return f"settings: {error}{cause}; write dictionaries and lists as JSON, or unset the variable FORESCALE_…"
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        field, *within = [str(part) for part in first["loc"]]
        message = f"setting {PREFIX}{field.upper()}: {first['msg'].removeprefix('Value error, ')}"
        alone = isinstance(first["input"], str | int | float) and not within and first["type"] != "value_error"
        return message + (f" (given: {setting_shown(first['input'])})" if alone else "")
    return None


def group_with(default: str) -> type[TyperGroup]:
    """The class of a group with that default; empty: it has none."""

    class WithDefault(TyperGroup):
        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            named = bool(args) and args[0] in {*self.commands, "--help"}
            # A shell that completes the first word asks the group, see below.
            whole = named or not default or (ctx.resilient_parsing and not args)
            return super().parse_args(ctx, args if whole else [default, *args])

        def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
            """Names of commands, and what could follow the default one."""
            found = super().shell_complete(ctx, incomplete)
            if default:
                command = self.commands[default]
                within = command.make_context(default, [], parent=ctx, resilient_parsing=True)
                named = {each.value for each in found}
                found += [each for each in command.shell_complete(within, incomplete) if each.value not in named]
                if incomplete[:1].isalnum() or not incomplete:
                    argument = next((each for each in command.params if each.param_type_name == "argument"), None)
                    found += [] if argument is None else argument.shell_complete(within, incomplete)
            return found

    return WithDefault
