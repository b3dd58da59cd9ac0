"""The page of all commands, made from the commands themselves: `python -m mlagentbench.cli.reference`."""

from __future__ import annotations

from collections.abc import Iterator

import click

from mlagentbench.cli.main import COMMANDS, cli

_WIDTH = 100
_HEAD = """# Commands

`mlagentbench` has the short form `mlab`. Every command has `--help` and `--json`; with `--json`, standard output holds
one JSON document and everything for people goes to standard error. For each option there is an environment variable:
`MLAGENTBENCH_MAX_STEPS=20` stands for `--max-steps 20`; a flag wins over its variable.

Exit status: 0 done, 1 the run or check failed, 2 wrong use, 130 stopped by Ctrl-C or SIGTERM (a stopped run can be
resumed).

This page is made by `python -m mlagentbench.cli.reference`.
"""


def commands_page() -> str:
    """The whole page as Markdown."""
    top = click.Context(
        cli,
        info_name="mlagentbench",
        max_content_width=_WIDTH,
        terminal_width=_WIDTH,
        **cli.context_settings,
    )
    lines = [_HEAD, "| command | does |", "|---|---|"]
    lines += [f"| [`{name}`](#{name}) | {what} |" for name, what in COMMANDS.items()]
    lines += _commands_of(cli, top)
    return "\n".join(lines) + "\n"


def _commands_of(group: click.Group, parent: click.Context, above: tuple[str, ...] = ()) -> Iterator[str]:
    """The help of each command of a group, and of the commands of those that are groups themselves."""
    for name in group.list_commands(parent):
        command = group.get_command(parent, name)
        assert command is not None
        context = click.Context(
            command, info_name=name, parent=parent, max_content_width=_WIDTH, terminal_width=_WIDTH
        )
        path = (*above, name)
        yield f"\n{'#' * (len(path) + 1)} {' '.join(path)}\n"
        yield from ("```text", command.get_help(context).rstrip(), "```")
        if isinstance(command, click.Group):
            yield from _commands_of(command, context, path)


if __name__ == "__main__":
    click.echo(commands_page(), nl=False)
