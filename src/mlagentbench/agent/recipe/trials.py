"""Experiments: scripts that are laid into the workspace, run, and measured by their own validation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import fmean

from mlagentbench.agent.measuring import (
    OTHER_SEEDS,
    error_line,
    running_with_seed,
    validation_score,
    writing_run_with_seed,
)
from mlagentbench.agent.notes import Notes
from mlagentbench.agent.recipe.settings import RecipeSettings
from mlagentbench.agent.shortening import cut
from mlagentbench.agent.tree.search import Operator
from mlagentbench.environment import Environment
from mlagentbench.record import Action, Observation
from mlagentbench.task.definition import Goal

_LONGEST_PROBLEM = 200
_STEPS_OF_ONE = 4
"""Write two files and run them; write the script that runs others with a seed."""
_STEPS_OF_THE_END = 4
"""Write two files, run them, submit."""
_SAFETY = 3.0
"""Executions as long as the longest so far that must still fit into the run's time."""


@dataclass
class Trial:
    """One experiment: all scripts that it is made of, and what came of running it."""

    number: int
    parent: Trial | None
    operator: Operator
    about: str
    files: Mapping[str, str]
    step: int = 0
    scores: list[float] = field(default_factory=list)
    """By its own validation: with the run's seed, then with others."""
    problem: str = ""
    seconds: float = 0.0
    """CPU time of one execution."""


class Trials:
    """Runs experiments as long as there are steps and time for them, and keeps them in the record."""

    def __init__(self, env: Environment, settings: RecipeSettings, goal: Goal) -> None:
        self._env = env
        self._settings = settings
        self._sign = 1 if goal == "maximize" else -1
        self._script = env.task.definition.entry
        self._seed = env.folder.request().seed
        self._notes = Notes(env)
        self._lying: dict[str, str] = {}
        self._ran_last: Trial | None = None
        self._spent = 0.0
        self._longest = 0.0
        self._budget = 0.0
        self._slack = 0.0
        self._can_reseed = False
        self._why_no_more = ""
        self.count = 0

    def begin(self, files: Mapping[str, str]) -> Trial:
        """Measure the scripts that the workspace holds already, and how much luck there is in their scores."""
        self._lying = dict(files)
        trial = self.measure(None, "starter", "The script as it was.", files)
        self._budget = max(self._settings.seconds, self._settings.times * self._spent)
        while 0 < len(trial.scores) <= self._settings.again and self.goes_on(trial):
            if not self._run_again(trial):
                break
        self._slack = (max(trial.scores) - min(trial.scores)) / 2 if trial.scores else 0.0
        return trial

    def measure(
        self, parent: Trial | None, operator: Operator, about: str, files: Mapping[str, str]
    ) -> Trial:
        trial = Trial(self.count, parent, operator, about, files)
        self.count += 1
        if self._lay(trial) and not self._env.done:
            before = self._spent
            observation = self._execute(trial, Action("Execute Script", {"script_name": self._script}))
            trial.step = len(self._env.history)
            trial.seconds = self._spent - before
            self._read(trial, observation)
            if not observation.ok:
                trial.problem = cut(error_line(observation.text), _LONGEST_PROBLEM)
            elif not trial.scores:
                trial.problem = "It printed no line `validation <metric>: <number>`."
        self._tell(trial)
        return trial

    def better(self, trial: Trial, than: Trial) -> bool:
        """Whether it is better in the mean over seeds. What is clearly worse with the first one is not run again."""
        if not trial.scores or not self._ahead(trial.scores[:1], than.scores[:1], self._slack):
            return False
        while len(trial.scores) <= self._settings.again:
            if not self._run_again(trial):
                return False
        while len(than.scores) < len(trial.scores) and self._run_again(than):
            pass
        return self._ahead(trial.scores[: len(than.scores)], than.scores)

    def goes_on(self, best: Trial) -> bool:
        """Whether there is room for an experiment twice as long as the best one, and for the end."""
        limits, history = self._env.limits, self._env.history
        steps = _STEPS_OF_ONE + 2 * self._settings.again + _STEPS_OF_THE_END
        if self._env.done:
            return False
        why = ""
        if self.count > self._settings.most_experiments:
            why = f"{self._settings.most_experiments} were made (most_experiments)"
        elif limits.steps is not None and limits.steps - len(history) < steps:
            left = limits.steps - len(history)
            why = f"{left} of {limits.steps} steps were left, and one more with the end takes up to {steps}"
        elif limits.time is not None and limits.time - history[-1].elapsed < _SAFETY * self._longest:
            why = "too little of the time of the run was left for one more"
        elif self._spent + 3 * best.seconds > self._budget:
            why = f"one more could pass the {self._budget:.0f} s of CPU time that it allows itself (seconds, times)"
        self._why_no_more = self._why_no_more or why
        return not why

    def end(self, best: Trial, answer: str) -> None:
        """Leave the best as it ran, and submit."""
        if self._ran_last is not best and self._lay(best) and not self._env.done:
            self._execute(best, Action("Execute Script", {"script_name": self._script}))
        if self._why_no_more:
            self.say(f"No further experiment was made: {self._why_no_more}.")
        self._tell(best, chosen=True)
        self.submit(answer)

    def submit(self, answer: str) -> None:
        if not self._env.done:
            self._env.step(Action("Final Answer", {"final_answer": answer}))

    def say(self, text: str) -> None:
        self._notes.say(text)

    def _run_again(self, trial: Trial) -> bool:
        """Once more, with another seed; whether there was a score."""
        if not self._can_reseed and not self._env.done:
            self._can_reseed = self._env.step(writing_run_with_seed()).ok
        if not self._can_reseed or self._env.done or not self._lay(trial) or self._env.done:
            return False
        known = len(trial.scores)
        self._read(
            trial, self._execute(None, running_with_seed(self._script, self._seed + OTHER_SEEDS * known))
        )
        self._tell(trial)
        return len(trial.scores) > known

    def _lay(self, trial: Trial) -> bool:
        """Put its scripts into the workspace, as far as others lie there."""
        for name, content in trial.files.items():
            if self._lying.get(name) == content:
                continue
            if self._env.done:
                return False
            observation = self._env.step(Action("Write File", {"file_name": name, "content": content}))
            if not observation.ok:
                trial.problem = cut(observation.text, _LONGEST_PROBLEM)
                return False
            self._lying[name] = content
        return True

    def _execute(self, trial: Trial | None, action: Action) -> Observation:
        """Run something; what it leaves is a trial's own, or nobody's."""
        observation = self._env.step(action)
        self._ran_last = trial
        if observation.execution is not None:
            self._spent += observation.execution.cpu_seconds
            self._longest = max(self._longest, observation.execution.wall_seconds)
        return observation

    def _read(self, trial: Trial, observation: Observation) -> None:
        score = validation_score(observation.text) if observation.ok else None
        if score is not None:
            trial.scores.append(score)

    def _ahead(self, scores: list[float], others: list[float], slack: float = 0.0) -> bool:
        return self._sign * (fmean(scores) - fmean(others)) > -slack

    def _tell(self, trial: Trial, chosen: bool = False) -> None:
        """Keep it in the record, in the form of the solutions that the agent `tree` tries."""
        result = f"validation {fmean(trial.scores):.6g}" if trial.scores else trial.problem
        data: dict[str, object] = {
            "node": trial.number,
            "parent": None if trial.parent is None else trial.parent.number,
            "operator": trial.operator,
            "plan": trial.about,
            "step": trial.step,
            "scores": list(trial.scores),
            "problem": trial.problem,
        }
        if chosen:
            data["chosen"] = True
        self._notes.say(
            f"{'Chosen: e' if chosen else 'E'}xperiment {trial.number}, {trial.about} {result}", data
        )
