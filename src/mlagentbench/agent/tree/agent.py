"""Searches over whole solutions: drafts some, repairs what is broken, improves what is good, submits the best."""

from __future__ import annotations

import math
import random

from mlagentbench.agent.loop import LOST
from mlagentbench.agent.measuring import (
    OTHER_SEEDS,
    error_line,
    running_with_seed,
    validation_score,
    writing_run_with_seed,
)
from mlagentbench.agent.notes import Notes
from mlagentbench.agent.prompting import prompt
from mlagentbench.agent.shortening import cut
from mlagentbench.agent.spec import Needs
from mlagentbench.agent.tree.search import Move, Node, Strategy, Tree
from mlagentbench.agent.tree.settings import TreeSettings
from mlagentbench.agent.tree.writing import LONGEST_PROBLEM, Writer
from mlagentbench.environment import Environment
from mlagentbench.environment.actions.fences import NoSingleBlockError
from mlagentbench.environment.desk import Used
from mlagentbench.errors import UsageError
from mlagentbench.model.errors import TooLongError
from mlagentbench.record import Action, Observation

_STEPS_OF_THE_BEGINNING = 2
"""Read the starter, run it."""
_STEPS_OF_A_NODE = 2
_STEPS_OF_THE_END = 3
"""Write the best, run it, submit."""
_SAFETY = 3.0
"""Executions as long as the longest so far that must still fit into the run's time."""
_MARGIN = 1.5
"""By how much what comes next may be dearer than the dearest so far."""


LEAST_STEPS = _STEPS_OF_THE_BEGINNING + _STEPS_OF_A_NODE + _STEPS_OF_THE_END


class TreeAgent:
    Settings = TreeSettings

    def __init__(self, settings: TreeSettings) -> None:
        self._settings = settings
        self.needs = Needs(least_steps=LEAST_STEPS)

    def run(self, env: Environment) -> None:
        goal = env.task.definition.metric.goal
        if goal is None:
            raise UsageError(
                f"The agent 'tree' must know which scores are better, and {env.task.id} does not say. "
                "Put a mlagentbench.toml with [metric] goal beside it."
            )
        Search(env, self._settings, Tree(goal)).run()


class Search:
    """One run. Whatever it decides by is in the record, so that it can be replayed."""

    def __init__(self, env: Environment, settings: TreeSettings, tree: Tree) -> None:
        self._env = env
        self._settings = settings
        self._tree = tree
        self._script = env.task.definition.entry
        self._strategy = Strategy(
            settings.drafts, settings.debug_depth, settings.debug_share, settings.policy
        )
        self._seed = env.folder.request().seed
        self._chance = random.Random(self._seed)
        self._notes = Notes(env)
        self._writer = Writer(env, settings, tree, self._affords)
        self._longest = 0.0
        self._began = Used()
        """As it was when the last step ended and a node began."""
        self._dearest_node = Used()
        self._again = settings.again
        self._lying: Node | None = None

    def run(self) -> None:
        self._begin()
        self._fit()
        while not self._env.done:
            if why := self._why_not():
                self._notes.say(f"No further solution is asked for: {why}.")
                break
            if not self._try(self._strategy.next(self._tree, self._chance)):
                break
            self._dearest_node = self._dearest_node.most(self._env.used.since(self._began))
            self._began = self._env.used
        self._end()

    def _begin(self) -> None:
        """The starter is the first node: what everything else is measured by."""
        code = self._env.step(Action("Read File", {"file_name": self._script})).text
        node = self._tree.grow(Move("starter", None), "The script as it was.", _ending(code))
        self._lying = node
        if not self._env.done:
            self._execute(node)
        if not self._env.done:
            self._writer.look(self._files_to_show())

    def _files_to_show(self) -> int:
        """As many as leave room for one solution: looking takes a step for the list, and one for each file."""
        wanted, left = self._settings.preview, self._steps_left()
        room = left - _STEPS_OF_A_NODE - _STEPS_OF_THE_END - 1
        if wanted <= room:
            return wanted
        shown = max(0, int(room))
        self._notes.say(
            f"With {left} steps left, {shown} data files are looked at, and not {wanted} (preview)."
        )
        return shown

    def _fit(self) -> None:
        """Where steps are few, the best are run again less often, so that the model is asked for solutions at all."""
        nodes = max(1, self._settings.drafts) * _STEPS_OF_A_NODE
        while self._again and self._steps_left() < nodes + self._steps_of_the_end():
            self._again -= 1
        if self._again < self._settings.again:
            self._notes.say(
                f"With {self._steps_left()} steps left, the best solutions are run again {self._again} times each, and "
                f"not {self._settings.again} times (again): the rest is needed for new ones."
            )

    def _steps_left(self) -> float:
        limit = self._env.limits.steps
        return math.inf if limit is None else limit - len(self._env.history)

    def _try(self, move: Move) -> bool:
        """One node more; false where what there is to say has outgrown the model."""
        try:
            plan, script = self._writer.write(move)
        except NoSingleBlockError as problem:
            node = self._tree.grow(move, "", "")
            node.problem = f"There is no script: of the reply, {problem}."
            self._tell(node)
            if not self._env.done:
                self._env.step(Action(LOST, {"reason": node.problem}))
            return True
        except TooLongError as error:
            self._notes.say(f"The prompt is too long, so the best solution so far is submitted. {error}")
            return False
        node = self._tree.grow(move, plan, script)
        if not self._env.done and self._lay(node) and not self._env.done:
            self._execute(node)
        return True

    def _lay(self, node: Node) -> bool:
        """Put a node's script into the workspace."""
        if self._lying is node:
            return True
        action = Action("Write File", {"file_name": self._script, "content": node.script})
        observation = self._env.step(action)
        if not observation.ok:
            node.problem = cut(observation.text, LONGEST_PROBLEM)
            self._tell(node)
            return False
        self._lying = node
        return True

    def _execute(self, node: Node) -> None:
        observation = self._env.step(Action("Execute Script", {"script_name": self._script}))
        node.step = len(self._env.history)
        self._writer.outputs[node.number] = observation.text
        score = self._measured(observation)
        if score is not None:
            node.scores.append(score)
        elif observation.ok:
            node.problem = "It printed no line `validation <metric>: <number>`."
        else:
            node.problem = cut(error_line(observation.text), LONGEST_PROBLEM)
        self._tell(node)

    def _measured(self, observation: Observation) -> float | None:
        if observation.execution is not None:
            self._longest = max(self._longest, observation.execution.wall_seconds)
        return validation_score(observation.text) if observation.ok else None

    def _tell(self, node: Node, chosen: bool = False) -> None:
        """Keep the node in the record, for whoever draws the tree."""
        result = f"validation {node.score:.6g}" if node.scores else node.problem
        below = "" if node.parent is None else f" of node {node.parent}"
        self._notes.say(
            f"Node {node.number}, {node.operator}{below}: {result}{', chosen' if chosen else ''}",
            {
                "node": node.number,
                "parent": node.parent,
                "operator": node.operator,
                "plan": node.plan,
                "step": node.step,
                "scores": node.scores,
                "problem": node.problem,
                "chosen": chosen,
            },
        )

    def _why_not(self) -> str:
        """Why there is no room for one more node, and for the end; empty where there is."""
        if len(self._tree.nodes) > self._settings.most_nodes:
            return f"{self._settings.most_nodes} were made (most_nodes)"
        needed = _STEPS_OF_A_NODE + self._steps_of_the_end()
        left, limit = self._steps_left(), self._env.limits.steps
        if left < needed:
            return f"{left} of {limit} steps are left, and one more with the end takes {needed}"
        return self._short_of(self._dearest_node)

    def _affords(self, next_one: Used) -> bool:
        return not self._short_of(next_one)

    def _short_of(self, next_one: Used) -> str:
        """Which limit has no room for something like it, and for the end, which asks no model."""
        limits, used = self._env.limits, self._env.used
        elapsed = self._env.history[-1].elapsed + used.since(self._began).seconds
        executions = _SAFETY + self._settings.candidates * self._again
        seconds = elapsed + executions * self._longest + _MARGIN * next_one.seconds
        told = "the rest of the {} of the run is kept for the end, or would not be enough for one more"
        if limits.tokens is not None and used.tokens + _MARGIN * next_one.tokens >= limits.tokens:
            return told.format("tokens")
        if limits.cost is not None and used.cost + _MARGIN * next_one.cost >= limits.cost:
            return told.format("cost")
        if limits.time is not None and seconds >= limits.time:
            return told.format("time")
        return ""

    def _steps_of_the_end(self) -> int:
        again = self._settings.candidates * (1 + self._again) + 1 if self._again else 0
        return _STEPS_OF_THE_END + again

    def _end(self) -> None:
        """Make sure which is the best, leave it as it ran, and submit."""
        self._make_sure()
        best = self._tree.best()
        if best is not None and not self._env.done:
            self._tell(best, chosen=True)
            ran_last = self._lying is best and self._env.history[-1].index == best.step
            if self._lay(best) and not ran_last and not self._env.done:
                self._env.step(Action("Execute Script", {"script_name": self._script}))
        if not self._env.done:
            self._env.step(Action("Final Answer", {"final_answer": self._answer(best)}))

    def _make_sure(self) -> None:
        """Run the best again with other seeds: one good score may be luck."""
        candidates = self._tree.candidates(self._settings.candidates)
        if self._again == 0 or len(candidates) < 2 or self._env.done:
            return
        self._env.step(writing_run_with_seed())
        for node in candidates:
            if self._env.done or not self._lay(node):
                return
            for number in range(1, self._again + 1):
                if self._env.done:
                    return
                again = running_with_seed(self._script, self._seed + OTHER_SEEDS * number)
                score = self._measured(self._env.step(again))
                if score is not None:
                    node.scores.append(score)
            self._tell(node)

    def _answer(self, best: Node | None) -> str:
        if best is None:
            return "No solution ran and printed a validation score."
        return prompt(
            "tree_answer",
            count=str(len(self._tree.nodes)),
            number=str(best.number),
            scores=" and ".join(f"{score:.6g}" for score in best.scores),
            runs="one run" if len(best.scores) == 1 else f"{len(best.scores)} runs",
            plan=best.plan,
        )


def _ending(code: str) -> str:
    return code if code.endswith("\n") else f"{code}\n"
