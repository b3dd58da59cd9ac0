"""No model at all: a fixed sequence of experiments by the form of the data, which keeps what improves its validation.

It knows what any agent is told: the problem's metric and goal, the name of the script, and what lies in the workspace.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mlagentbench.agent.prompting import prompt
from mlagentbench.agent.recipe.book import LOOK, SHARED, Family, Turn, book, script
from mlagentbench.agent.recipe.grafts import networked, swapped
from mlagentbench.agent.recipe.knobs import Knob, is_script, knobs_of, turned, with_constants
from mlagentbench.agent.recipe.settings import RecipeSettings
from mlagentbench.agent.recipe.trials import Trial, Trials
from mlagentbench.environment import Environment
from mlagentbench.errors import UsageError
from mlagentbench.record import Action


class RecipeAgent:
    Settings = RecipeSettings

    def __init__(self, settings: RecipeSettings) -> None:
        self._settings = settings

    def run(self, env: Environment) -> None:
        goal = env.task.definition.metric.goal
        if goal is None:
            raise UsageError(
                f"The agent 'recipe' must know which scores are better, and {env.task.id} does not say. "
                "Put a mlagentbench.toml with [metric] goal beside it."
            )
        Cook(env, Trials(env, self._settings, goal)).run()


class Cook:
    """One run. Whatever it decides by is in the record, so that it can be replayed."""

    def __init__(self, env: Environment, trials: Trials) -> None:
        self._env = env
        self._trials = trials
        self._entry = env.task.definition.entry
        self._tried: set[frozenset[tuple[str, str]]] = set()

    def run(self) -> None:
        files = self._look()
        start = self._trials.begin(self._scripts())
        if not start.scores:
            self._trials.say(f"Nothing can be compared. {start.problem}")
            self._trials.submit(prompt("recipe_nothing", problem=start.problem))
            return
        best = self._by_form(files, start)
        best = self._with_other_models(best)
        best = self._with_other_numbers(best)
        answer = prompt(
            "recipe_answer",
            count=str(self._trials.count),
            number=str(best.number),
            changes="\n".join(f"- {trial.about}" for trial in _line(best)),
            score=f"{best.scores[0]:.6g}",
        )
        self._trials.end(best, answer)

    def _look(self) -> list[str]:
        """The files that the workspace holds."""
        self._env.step(Action("Write File", {"file_name": LOOK, "content": script(LOOK)}))
        if self._env.done:
            return []
        observation = self._env.step(Action("Execute Script", {"script_name": LOOK}))
        return [line for line in observation.text.splitlines() if line and not line.startswith("[")]

    def _scripts(self) -> dict[str, str]:
        """What can be changed: the script that is run, and those beside the data, as far as they are Python."""
        listed = "" if self._env.done else self._env.step(Action("List Files")).text
        names = [line.split("  ")[0] for line in listed.splitlines() if not line.endswith("[read-only]")]
        found = {}
        for name in dict.fromkeys([self._entry, *(name for name in names if name.endswith(".py"))]):
            if name != LOOK and not self._env.done:
                observation = self._env.step(Action("Read File", {"file_name": name}))
                if observation.ok and is_script(observation.text):
                    found[name] = observation.text
        return found

    def _by_form(self, files: list[str], start: Trial) -> Trial:
        """The best of what is tried on data of this form, if it is better than the starter."""
        for family in book().families:
            if family.suits(files) and self._trials.goes_on(start):
                best = self._family(family)
                if best.scores:
                    return best if self._trials.better(best, start) else start
        return start

    def _family(self, family: Family) -> Trial:
        first, *others = family.experiments
        source = with_constants(family.script, {"METRIC": self._env.task.definition.metric.name} | first)
        files = {SHARED: script(SHARED), self._entry: source}
        best = self._trials.measure(None, "draft", f"The recipe for data of the form: {family.name}.", files)
        for values in others if best.scores else ():
            if self._trials.goes_on(best):
                told = ", ".join(f"{name} = {value!r}" for name, value in values.items())
                changed = with_constants(best.files[self._entry], values)
                best = self._better_of(best, self._entry, changed, f"{told}.")
        return best

    def _with_other_models(self, best: Trial) -> Trial:
        """Of the starter; families have tried theirs."""
        if _line(best)[0].operator != "starter":
            return best
        for swap in book().swaps:
            for name in list(_changeable(best.files)):
                changed = swapped(best.files[name], swap)
                if changed is not None:
                    best = self._better_of(best, name, changed, f"In {name}, {swap.about}.")
        for network in book().networks:
            for name in list(_changeable(best.files)):
                changed = networked(best.files[name], network)
                if changed is not None:
                    best = self._better_of(best, name, changed, f"In {name}, {network.about}.")
        return best

    def _with_other_numbers(self, best: Trial) -> Trial:
        """Round after round over all numbers that are known by name, until a round has not helped."""
        before = None
        while before is not best and self._trials.goes_on(best):
            before = best
            for turn in book().turns:
                for name, knob in list(_knobs(best.files, turn)):
                    best = self._turn(best, name, knob, turn)
        return best

    def _turn(self, best: Trial, name: str, knob: Knob, turn: Turn) -> Trial:
        """One number once, in the first direction that helps."""
        for factor in turn.factors:
            value = knob.times(factor)
            if value is not None:
                changed = turned(best.files[name], knob, value)
                after = self._better_of(best, name, changed, f"{knob.name} = {value} in {name}.")
                if after is not best:
                    return after
        return best

    def _better_of(self, best: Trial, name: str, changed: str, about: str) -> Trial:
        """The best one, or it with one script changed, whichever measures better."""
        files = {**best.files, name: changed}
        if frozenset(files.items()) in self._tried or not self._trials.goes_on(best):
            return best
        self._tried.add(frozenset(files.items()))
        trial = self._trials.measure(best, "improve", about, files)
        return trial if self._trials.better(trial, best) else best


def _changeable(files: Mapping[str, str]) -> Iterator[str]:
    return (name for name in files if name != SHARED)


def _knobs(files: Mapping[str, str], turn: Turn) -> Iterator[tuple[str, Knob]]:
    for name in _changeable(files):
        for knob in knobs_of(files[name]):
            if turn.means(knob.name):
                yield name, knob


def _line(trial: Trial) -> list[Trial]:
    """What led to it, from the first on."""
    return ([] if trial.parent is None else _line(trial.parent)) + [trial]
