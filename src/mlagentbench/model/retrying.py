"""Bounded retries of what may pass, each of them told in the completion, the waiting counted apart."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mlagentbench.model.errors import ModelError
from mlagentbench.model.spec import Completion, Message, Model, Sampling, Tool
from mlagentbench.model.waiting import still_wanted, waiting_for
from mlagentbench.units import format_duration


@dataclass(frozen=True)
class Patience:
    """How long to go on with a provider that fails."""

    attempts: int = 8
    """Requests in all."""
    first: float = 1.0
    """Seconds before the second request; twice as long before each further one."""
    longest: float = 60.0
    """Seconds between two requests at most, unless the provider asks for more."""
    longest_asked: float = 300.0
    """What a provider may ask for with `Retry-After`; more than this, and the error stands."""
    total: float = 900.0
    """Seconds of waiting between requests for one completion."""
    jitter: float = 0.25
    """Part of each wait that is left to chance, so that runs do not come back together."""

    @classmethod
    def within(cls, retries: int, total: float) -> Patience:
        """So many requests after the first, with `total` seconds between all of them: where the usual waits would be
        longer than that, each is as much shorter. A provider may ask for a third of it at once."""
        waits = sum(min(cls.longest, cls.first * 2.0**number) for number in range(retries))
        rounding = 1 - 1e-9  # waits that add up to a hair more than all would cost the last retry
        share = min(1.0, total * rounding / waits) if waits else 1.0
        return cls(
            attempts=retries + 1,
            first=cls.first * share,
            longest=cls.longest * share,
            longest_asked=total / 3,
            total=total,
        )


class Retrying:
    """`model`, with requests that fail in passing made again.

    `sleep` may raise to end the waiting, as Ctrl-C does.
    """

    def __init__(
        self,
        model: Model,
        patience: Patience | None = None,
        *,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.name = model.name
        self.inner = model
        self._patience = patience or Patience()
        self._sleep = sleep
        self._clock = clock
        self._chance = chance

    @property
    def speaks_tools(self) -> bool:
        return self.inner.speaks_tools

    def complete(
        self, messages: Sequence[Message], sampling: Sampling, tools: Sequence[Tool] = ()
    ) -> Completion:
        retries: list[str] = []
        waited = slept = 0.0
        while True:
            still_wanted()
            begun = self._clock()
            try:
                completion = self.inner.complete(messages, sampling, tools)
            except ModelError as error:
                waited += self._clock() - begun
                if not error.transient:
                    raise
                retries.append(str(error))
                wait = self._wait(error, len(retries))
                why = self._enough(error, wait, len(retries), slept)
                if why:
                    raise type(error)(f"{error} Gave up {why}.", retry_after=error.retry_after) from None
                begun = self._clock()
                with waiting_for(f"{error} Asking again in {format_duration(wait)}", wait):
                    self._sleep(wait)
                slept += wait
                waited += self._clock() - begun
            else:
                if not retries:
                    return completion
                update = {"waited": completion.waited + waited, "retries": (*retries, *completion.retries)}
                return completion.model_copy(update=update)

    def _wait(self, error: ModelError, failed: int) -> float:
        patience = self._patience
        doubled = patience.first * 2.0 ** min(failed - 1, 60)
        own = min(patience.longest, doubled) * (1 - patience.jitter * self._chance())
        return max(own, error.retry_after or 0.0)

    def _enough(self, error: ModelError, wait: float, failed: int, slept: float) -> str:
        """Why not to try again, in words; empty to go on."""
        patience = self._patience
        if failed >= patience.attempts:
            return f"after {_requests(failed)}"
        if (error.retry_after or 0.0) > patience.longest_asked:
            return f"because it asks to wait {format_duration(error.retry_after or 0.0)}"
        if slept + wait > patience.total:
            return f"after {_requests(failed)} and {format_duration(slept)} of waiting"
        return ""


def _requests(number: int) -> str:
    return "one request" if number == 1 else f"{number} requests"
