"""How a model is asked for the next solution, and what it is told for that."""

from __future__ import annotations

import re
from collections.abc import Callable

from mlagentbench.agent.guiding import kind_of_change
from mlagentbench.agent.prompting import prompt
from mlagentbench.agent.shortening import cut
from mlagentbench.agent.tree.preview import preview
from mlagentbench.agent.tree.search import Move, Node, Tree
from mlagentbench.agent.tree.settings import TreeSettings
from mlagentbench.environment import Environment
from mlagentbench.environment.actions.fences import NoSingleBlockError
from mlagentbench.environment.actions.replies import fenced_reply
from mlagentbench.environment.desk import Used
from mlagentbench.model.errors import TooLongError
from mlagentbench.model.spec import Completion, Message, Sampling

_LONGEST_PLAN = 400
LONGEST_PROBLEM = 200
_SHORTEST_OUTPUT = 300
_NAME = re.compile(r"[\w.-]+")


class Writer:
    """Plans and scripts, from the model of a run."""

    def __init__(
        self, env: Environment, settings: TreeSettings, tree: Tree, affords: Callable[[Used], bool]
    ) -> None:
        self._env = env
        self._settings = settings
        self._tree = tree
        self._affords = affords
        self._script = env.task.definition.entry
        self._sampling = Sampling(max_tokens=settings.tokens, temperature=settings.temperature)
        self._data = ""
        self._dearest = Used()
        self._said = ""
        self.outputs: dict[int, str] = {}
        """What each node printed, by its number."""

    def look(self, files: int) -> None:
        """Look at so many files of the data, so that it can be told what they are like."""
        if shown := preview(self._env, files):
            self._data = prompt("tree_data", data=shown)

    def write(self, move: Move) -> tuple[str, str]:
        """A plan and a script, or why there is none."""
        try:
            return self._asked(move, self._settings.remembered, self._settings.output_limit)
        except TooLongError:
            return self._asked(move, 0, _SHORTEST_OUTPUT)

    def _asked(self, move: Move, remembered: int, output: int) -> tuple[str, str]:
        """The same, with so much said of what was tried and of what was printed."""
        reply = prompt("tree_reply_plan" if self._settings.planned else "tree_reply")
        question = [
            _system(self._system()),
            _user(f"{self._question(move, remembered, output)}\n\n{reply}"),
        ]
        if not self._settings.planned:
            return self._script_of(question)
        plan = self._plan(question)
        code = self._beginning(move).script
        asked = prompt("tree_carry_out", data=self._data, code=code, plan=plan)
        _, script = self._script_of([_user(asked.strip())])
        return plan, script

    def _plan(self, question: list[Message]) -> str:
        sampling = self._sampling.model_copy(
            update={"max_tokens": self._settings.plan_tokens, "stop": ("```",)}
        )
        plan = " ".join(self._complete(question, sampling).text.split())
        if not plan:
            raise NoSingleBlockError("there is no plan in it")
        return cut(plan, _LONGEST_PLAN)

    def _script_of(self, messages: list[Message]) -> tuple[str, str]:
        """What is said before the script, and the script. Who planned it is not shown a reply without one: small models
        copy what they see."""
        asked = messages
        for last in [False] * (self._settings.max_tries - 1) + [True]:
            self._said = "(nothing)"
            try:
                reply, script = fenced_reply(self._reply, asked)
                if self._script.endswith(".py") and (error := self._env.syntax_error(script)):
                    raise NoSingleBlockError(f"the script is not valid Python ({error})")
            except NoSingleBlockError as problem:
                if last or self._env.done:
                    raise
                if not self._settings.planned:
                    told = prompt("tree_again", problem=str(problem))
                    asked = [*messages, Message(role="assistant", content=self._said), _user(told)]
                continue
            return cut(" ".join(reply.split("```", 1)[0].split()), _LONGEST_PLAN), script
        raise AssertionError("there is a last try")

    def _reply(self, asked: list[Message]) -> Completion:
        completion = self._complete(asked, self._sampling)
        self._said = cut(completion.text.strip(), self._settings.output_limit) or self._said
        return completion

    def _complete(self, asked: list[Message], sampling: Sampling) -> Completion:
        if not self._affords(self._dearest):
            raise NoSingleBlockError("no more could be asked for: the best solution must still be submitted")
        before = self._env.used
        completion = self._env.complete(asked, sampling, role="edit")
        self._dearest = self._dearest.most(self._env.used.since(before))
        return completion

    def _system(self) -> str:
        return prompt(
            "tree_system",
            problem=self._env.problem,
            data=self._data,
            script=self._script,
            libraries=self._libraries(),
            metric=self._env.task.definition.metric.name,
        )

    def _libraries(self) -> str:
        """What is installed beside Python, as far as the task says it."""
        wanted = self._env.task.definition.requirements_of(self._env.folder.request().variant)
        names = [found[0] for each in wanted if (found := _NAME.match(each))]
        return f" ({', '.join(names)})" if names else ""

    def _question(self, move: Move, remembered: int, longest: int) -> str:
        node = self._beginning(move)
        output = cut(self.outputs.get(node.number, ""), longest)
        values = {"memory": self._memory(remembered), "code": node.script}
        match move.operator:
            case "debug":
                return prompt("tree_debug", **values, problem=node.problem, output=output)
            case "improve":
                score = f"{node.score:.6g}"
                values |= {"score": score, "goal": self._tree.goal, "output": output}
                return prompt("tree_improve", **values, change=self._direction() or prompt("tree_change"))
            case _:
                return prompt("tree_draft", **values, change=self._direction() or prompt("tree_own_way"))

    def _beginning(self, move: Move) -> Node:
        return move.parent or self._tree.nodes[0]

    def _direction(self) -> str:
        if not self._settings.directed:
            return ""
        ideas = sum(node.operator in ("draft", "improve") for node in self._tree.nodes)
        return prompt("tree_direction", kind=kind_of_change(ideas))

    def _memory(self, last: int) -> str:
        """What was tried, and what was measured."""
        if not last:
            return ""
        lines = [
            f"- {node.plan or 'Nothing could be read.'} Result: "
            + (f"validation score {node.score:.6g}" if node.scores else cut(node.problem, LONGEST_PROBLEM))
            for node in self._tree.nodes[-last:]
        ]
        return "\n".join([f"Tried so far (goal: {self._tree.goal}):", *lines])


def _system(text: str) -> Message:
    return Message(role="system", content=text)


def _user(text: str) -> Message:
    return Message(role="user", content=text)
