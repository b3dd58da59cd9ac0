"""`mlagentbench doctor`"""

from __future__ import annotations

import click

from mlagentbench.cli import options as o


@click.command("doctor")
@o.json_option
def command(as_json: bool) -> None:
    """Tell what works on this machine, and what fixes the rest.

    The exit status is 1 if something that every run needs does not work.
    """
    from mlagentbench.cli.health import State, doctor
    from mlagentbench.cli.machine import print_json
    from mlagentbench.cli.screen import Part, open_screen

    checks = doctor()
    broken = [check for check in checks if check.state == "broken"]
    if as_json:
        print_json({"ok": not broken, "checks": checks})
    else:
        marks: dict[State, Part] = {
            "works": ("✓ ", "good"),
            "optional": ("· ", "dim"),
            "broken": ("✗ ", "bad"),
        }
        screen = open_screen()
        width = max(len(check.name) for check in checks) + 2
        for check in checks:
            screen.line(marks[check.state], (f"{check.name:<{width}}", "name"), check.detail)
            if check.command:
                screen.line((" " * (width + 2) + "fix it with: ", "dim"), check.command)
        screen.line()
        if broken:
            screen.line(
                ("Runs cannot be trusted yet. ", "bad"), f"First: {broken[0].command or broken[0].detail}"
            )
        else:
            screen.line(("All that every run needs works. ", "good"), "Try: mlagentbench run house-price")
    if broken:
        raise click.exceptions.Exit(1)
