"""`mlagentbench info`"""

from __future__ import annotations

import click

from mlagentbench.cli import options as o


@click.command("info")
@click.argument("task")
@o.variant_option
@o.json_option
def command(task: str, variant: str | None, as_json: bool) -> None:
    """Tell everything about a task.

    TASK is a name of `mlagentbench list` or the path of a task's folder.
    """
    from mlagentbench.cli import catalogue
    from mlagentbench.cli.machine import print_json
    from mlagentbench.cli.screen import open_screen
    from mlagentbench.cli.words import limits_of, number

    details = catalogue.info(task, variant)
    if as_json:
        print_json(details)
        return
    screen = open_screen()
    metric = details.metric
    unit = f" in {metric.unit}" if metric.unit else ""
    screen.line((details.id, "title"), f"  {details.title}")
    for label, words in (
        ("about", f"{details.modality}, {details.category}, data of {details.data_date or 'unknown date'}"),
        ("metric", f"{metric.name}{unit}, {metric.goal or 'no goal'}, floor {number(metric.floor)}"),
        ("submission", f"{details.submission}, written by running {details.entry}"),
        ("needs", ", ".join(details.requirements) or "the standard library alone"),
        ("limits", limits_of(details.limits)),
        ("published", number(details.published_baseline) if details.published_baseline is not None else ""),
        ("folder", str(details.folder)),
    ):
        if words:
            screen.line((f"{label:<12}", "label"), words)
    for each in details.variants:
        needs = f"; needs {each.needs}" if each.needs else ""
        more = f"; needs {', '.join(each.requirements)} too" if each.requirements else ""
        state = "ready" if each.prepared else "not ready"
        screen.line((f"{each.name:<12}", "label"), f"{each.description} ({state}{needs}{more})")
        for lacking in each.missing:
            screen.line(" " * 12, ("missing: ", "warn"), lacking.what, (f"   {lacking.command}", "dim"))
    for kind in ("starter", "plain", "oracle"):
        if scores := details.references.scores(kind):
            screen.line(
                (f"{kind:<12}", "label"), f"measured here: {', '.join(number(score) for score in scores)}"
            )
    screen.line()
    screen.line((details.problem, "dim"))
