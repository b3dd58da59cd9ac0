"""`mlagentbench audit`"""

from __future__ import annotations

import click

from mlagentbench.cli import options as o


@click.command("audit")
@click.argument("tasks", nargs=-1, required=True, metavar="TASK...")
@o.variant_option
@o.data_seed_option
@o.key_option
@o.python_option
@o.option(
    "--starter-runs", type=click.IntRange(1), default=1, show_default=True, help="More measure its noise."
)
@o.sandbox_option
@o.json_option
def command(
    tasks: tuple[str, ...],
    variant: str | None,
    data_seed: int,
    key: str | None,
    python: str | None,
    starter_runs: int,
    sandbox: str | None,
    as_json: bool,
) -> None:
    """Prove that tasks can be solved, score rightly and do not leak.

    Every item is told with what was found. The exit status is 1 if any of them fails.
    """
    from mlagentbench.auditing.audit import audit
    from mlagentbench.cli.machine import plain, print_json
    from mlagentbench.cli.screen import open_screen

    screen = open_screen(json=as_json)
    reports = []
    for task in tasks:
        report = audit(
            task,
            variant=variant,
            seed=data_seed,
            key=key,
            python=python,
            starter_runs=starter_runs,
            sandbox=sandbox or "auto",
            progress=screen.passing,
        )
        reports.append(report)
        screen.line((report.task, "title"), f" ({report.variant})")
        for item in report.items:
            screen.line(
                ("  ✓ ", "good") if item.ok else ("  ✗ ", "bad"), (item.name, "name"), f": {item.detail}"
            )
        failed = len(report.failures)
        screen.line(
            (f"{failed} of {len(report.items)} items fail.", "bad")
            if failed
            else ("Every item holds.", "good")
        )
    if as_json:
        print_json({"reports": [{"ok": report.ok, **plain(report)} for report in reports]})
    if not all(report.ok for report in reports):
        raise click.exceptions.Exit(1)
