"""`mlagentbench audit`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mlagentbench.cli import options as o

if TYPE_CHECKING:
    from mlagentbench.auditing.report import AuditReport
    from mlagentbench.cli.screen import Part


@click.command("audit")
@click.argument("tasks", nargs=-1, metavar="TASK...")
@o.option("--all", "everything", is_flag=True, mirrored=False, help="Every task of `mlagentbench list`.")
@o.variant_option
@o.data_seed_option
@o.key_option
@o.python_option
@o.option(
    "--starter-runs", type=click.IntRange(1), default=1, show_default=True, help="More measure its noise."
)
@o.sandbox_option
@o.service_network_option
@o.option(
    "--save", type=click.Path(path_type=Path, dir_okay=False), mirrored=False, metavar="FILE",
    help="Keep the table in a JSON file, beside what it holds of other tasks.",
)  # fmt: skip
@o.json_option
def command(
    tasks: tuple[str, ...],
    everything: bool,
    variant: str | None,
    data_seed: int,
    key: str | None,
    python: str | None,
    starter_runs: int,
    sandbox: str | None,
    network: str,
    save: Path | None,
    as_json: bool,
) -> None:
    """Prove that tasks can be solved, score rightly and do not leak.

    Every item is told with what was found, and for several tasks a table at the end: what starter, plain model and
    oracle score, what lies between them, CPU time and memory. The exit status is 1 if any item fails.
    """
    from mlagentbench.auditing.audit import audit
    from mlagentbench.auditing.overview import row_of, save_rows
    from mlagentbench.cli.machine import plain, print_json
    from mlagentbench.cli.screen import open_screen
    from mlagentbench.cli.tables import audit_table
    from mlagentbench.errors import MLAgentBenchError
    from mlagentbench.task.registry import list_tasks, load_task

    if bool(tasks) == everything:
        raise click.UsageError("Name the tasks, or give --all. `mlagentbench list` shows them.")
    screen = open_screen(json=as_json)
    reports, rows, broken = [], [], []
    for task in [each.name for each in list_tasks()] if everything else tasks:
        try:
            report = audit(
                task,
                variant=variant,
                seed=data_seed,
                key=key,
                python=python,
                starter_runs=starter_runs,
                sandbox=sandbox or "auto",
                network=network == "on",
                progress=screen.passing,
            )
        except MLAgentBenchError as error:
            if len(tasks) == 1:
                raise
            screen.line((f"{task}: ", "bad"), str(error))
            broken.append({"task": task, "problem": str(error)})
            continue
        reports.append(report)
        rows.append(row_of(report, load_task(task).definition.metric))
        screen.line((report.task, "title"), f" ({report.variant})")
        for item in report.items:
            sign: Part = (
                ("  ✗ ", "bad") if not item.ok else ("  ✓ ", "good") if item.measured else ("  – ", "label")
            )
            detail = item.detail if item.measured else f"not measured: {item.detail}"
            screen.line(sign, (item.name, "name"), f": {detail}")
        screen.line(_closing(report))
    if len(rows) > 1:
        screen.line()
        audit_table(screen, rows)
    if save is not None:
        save_rows(save, rows)
    if as_json:
        told = [{"ok": report.ok, **plain(report)} for report in reports]
        print_json({"reports": told, "table": rows, "failed": broken})
    if broken or not all(report.ok for report in reports):
        raise click.exceptions.Exit(1)


def _closing(report: AuditReport) -> Part:
    """All of it in one sentence; what was not measured is never said to hold."""
    unmeasured = len(report.unmeasured)
    apart = f"; {unmeasured} of {len(report.items)} were not measured" if unmeasured else ""
    if report.failures:
        return (f"{len(report.failures)} of {len(report.items)} items fail{apart}.", "bad")
    return (f"Every item that was measured holds{apart}." if unmeasured else "Every item holds.", "good")
