"""What became of folders that were imported, in words."""

from __future__ import annotations

from collections.abc import Sequence

from mlagentbench.cli.screen import Screen
from mlagentbench.cli.words import tell_grade
from mlagentbench.evaluation.importing import Import


def tell_imports(screen: Screen, done: Sequence[Import]) -> None:
    """Each folder with what was found in it and what was not; then how many there were of each kind."""
    for each in done:
        screen.line()
        screen.line((str(each.source), "title"))
        if each.run is None or each.problem:
            screen.line(
                ("again   " if each.ok else "NOT IMPORTED  ", "warn" if each.ok else "bad"), each.problem
            )
        if each.run is not None:
            screen.line(("run     ", "label"), str(each.run))
        if each.run is None or each.problem:
            continue
        screen.line(("ended   ", "label"), f"{each.ended}, {each.steps} steps")
        for word, sentences in (("missing ", each.missing), ("damaged ", each.damaged)):
            for sentence in sentences:
                screen.line((word, "warn"), sentence)
        if each.grade is not None:
            tell_grade(screen, each.grade)
        else:
            screen.line(("grade   ", "label"), ("none: ", "warn"), each.not_graded)
    new = [each for each in done if each.ok and not each.problem]
    hurt = sum(bool(each.damaged) for each in new)
    screen.line()
    screen.line(
        f"{len(done)} {'folder' if len(done) == 1 else 'folders'}: {len(new)} imported, of these {hurt} damaged and "
        f"{sum(each.grade is not None for each in new)} graded; "
        f"{sum(each.ok and bool(each.problem) for each in done)} were there before; "
        f"{sum(not each.ok for each in done)} not imported."
    )
