"""Making long texts short: by the fast model, or by leaving out the middle."""

from __future__ import annotations

from collections.abc import Callable

from mlagentbench.agent.prompting import prompt
from mlagentbench.agent.settings import LanguageSettings
from mlagentbench.environment import Environment
from mlagentbench.environment.desk import STOP
from mlagentbench.model.errors import TooLongError
from mlagentbench.model.spec import Message, Sampling

_HEAD = 0.4
"""Of what is kept; the end of an output says more than its beginning."""
_SMALLEST_BLOCK = 500


def cut(text: str, limit: int) -> str:
    """`text`, with its middle left out where it is longer than `limit` characters."""
    if len(text) <= limit:
        return text
    head = int(limit * _HEAD)
    tail = limit - head
    return f"{text[:head]}\n[… {len(text) - limit:,} characters left out …]\n{text[-tail:]}"


class Reader:
    """The fast model of a run, as an agent uses it."""

    def __init__(self, env: Environment, settings: LanguageSettings) -> None:
        self._env = env
        self._settings = settings
        self._sampling = Sampling(
            max_tokens=settings.fast_tokens, temperature=settings.fast_temperature, stop=(STOP,)
        )

    def ask(self, question: str) -> str:
        asked = [Message(role="user", content=question)]
        return self._env.complete(asked, self._sampling, role="fast").text.strip()

    def digest(self, text: str, question: Callable[[str], str]) -> str:
        """The answer about `text`. Where that is too long for the model, the answers about its halves."""
        try:
            answer = self.ask(question(text))
        except TooLongError:
            if len(text) <= _SMALLEST_BLOCK:
                return text
            middle = len(text) // 2
            halves = (self.digest(text[:middle], question), self.digest(text[middle:], question))
            return "\n".join(halves)
        return answer or cut(text, _SMALLEST_BLOCK)

    def shorten(self, observation: str, action: str) -> str:
        """An observation as the model is shown it."""
        limit, size = self._settings.observation_limit, self._settings.observation_block
        if len(observation) <= limit:
            return observation
        if self._settings.long_observations == "cut":
            return cut(observation, limit)
        blocks = [observation[start : start + size] for start in range(0, len(observation), size)]
        count = str(len(blocks))
        action = cut(action, limit)
        summaries = [
            self.digest(
                block,
                lambda text, number=number: prompt(  # type: ignore[misc]
                    "summarise_block", action=action, number=str(number), count=count, block=text
                ),
            )
            for number, block in enumerate(blocks, start=1)
        ]
        if len(summaries) == 1:
            summary = summaries[0]
        else:
            parts = "\n\n".join(f"Part {number}:\n{each}" for number, each in enumerate(summaries, start=1))
            summary = self.digest(
                parts, lambda text: prompt("summarise_all", action=action, count=count, summaries=text)
            )
        return f"[a summary of {len(observation):,} characters]\n{summary}"
