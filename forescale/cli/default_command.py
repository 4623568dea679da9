"""Groups of commands of which one runs where none is named: `plan TOPOLOGY` is `plan make TOPOLOGY`."""

from typing import Any

from typer.core import TyperGroup


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
