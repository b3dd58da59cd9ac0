"""The page of all commands, made from the commands themselves: `python -m mlagentbench.cli.reference`."""

from __future__ import annotations

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
    group = click.Context(cli, info_name="mlagentbench", max_content_width=_WIDTH, terminal_width=_WIDTH)
    lines = [_HEAD, "| command | does |", "|---|---|"]
    lines += [f"| [`{name}`](#{name}) | {what} |" for name, what in COMMANDS.items()]
    for name in COMMANDS:
        command = cli.get_command(group, name)
        assert command is not None
        context = click.Context(
            command, info_name=name, parent=group, max_content_width=_WIDTH, terminal_width=_WIDTH
        )
        lines += [f"\n## {name}\n", "```text", command.get_help(context).rstrip(), "```"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    click.echo(commands_page(), nl=False)
