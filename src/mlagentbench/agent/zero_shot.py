"""Zero-shot ReAct in text, as LangChain's agent of the paper had it: one prompt that grows by each step."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mlagentbench.agent.loop import LOST
from mlagentbench.agent.prompting import action_list, prompt
from mlagentbench.agent.protocol import ACTION, ACTION_INPUT, Decision
from mlagentbench.agent.shortening import cut
from mlagentbench.agent.text_protocol import parse
from mlagentbench.environment import Environment
from mlagentbench.environment.desk import STOP
from mlagentbench.model.errors import TooLongError
from mlagentbench.model.spec import Completion, Message, Sampling
from mlagentbench.record import Action

END = "Final Answer"
_ANSWER = re.compile(rf"^{END}:(.*)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class _Turn:
    reply: str
    observation: str


class ZeroShot:
    """All steps stay in the prompt. A reply that cannot be read is a step whose observation says why."""

    def __init__(self, env: Environment, sampling: Sampling, observation_limit: int) -> None:
        self._env = env
        self._sampling = sampling.model_copy(update={"stop": (STOP,)})
        self._limit = observation_limit
        self._turns: list[_Turn] = []

    def run(self) -> None:
        while not self._env.done:
            completion = self._complete()
            if completion is None or self._env.done:
                return
            text = completion.text.partition(STOP)[0]
            action = _action_in(text, cut_off=completion.stop_reason == "length")
            observation = self._env.step(action).text
            if action.name == LOST:
                observation = str(action.args["reason"])
            self._turns.append(_Turn(text.strip(), cut(observation, self._limit)))

    def _complete(self) -> Completion | None:
        """Where the prompt is too long, with fewer of the oldest steps; None where not even that helps."""
        while True:
            steps = "".join(f" {each.reply}\n{STOP} {each.observation}\nThought:" for each in self._turns)
            asked = prompt(
                "zero_shot",
                actions=action_list(self._env.actions),
                names=", ".join(self._env.actions),
                problem=self._env.problem,
                steps=steps,
            )
            try:
                return self._env.complete([Message(role="user", content=asked)], self._sampling)
            except TooLongError as error:
                if not self._turns:
                    self._env.note(
                        f"The prompt is too long for the model even without any past step. {error}"
                    )
                    return None
                self._turns = self._turns[(len(self._turns) + 1) // 2 :]


def _action_in(text: str, *, cut_off: bool) -> Action:
    """What a reply asks for; where that cannot be read, the reason."""
    decision = parse(text, (ACTION, ACTION_INPUT), cut_off=cut_off)
    answer = _ANSWER.search(text)
    if isinstance(decision, Decision):
        if answer is None or answer.start() > text.find(f"{ACTION_INPUT}:"):
            return decision.action
        return Action(LOST, {"reason": f"The reply has both an {ACTION} and a {END}. Write one of them."})
    if answer is not None and not cut_off:
        return Action(END, {"final_answer": answer[1].strip() or "[The answer was empty.]"})
    return Action(LOST, {"reason": f"{decision.sentence} Or end with {END!r}."})
