"""What a run may spend on models. A call reserves the most that it can use before it is made."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from mlagentbench.model.errors import OverLimitError
from mlagentbench.model.spec import Request, Usage
from mlagentbench.model.tokens import estimate_prompt

Price = Callable[[str, Usage], float | None]
"""What this much of a model costs, in US dollars; None where it is not known."""

_UNITS = {"tokens": "tokens", "cost": "dollars"}
_MANY = 1_000_000


@dataclass(frozen=True)
class Reserved:
    """What a call may use."""

    model: str
    prompt: int
    """Tokens, estimated."""
    output: int
    """Tokens: the budget that the call gets."""


@dataclass(frozen=True)
class Exhausted:
    """A limit that nothing useful fits under any more."""

    name: Literal["tokens", "cost"]
    limit: float

    def __str__(self) -> str:
        return f"the run has used up its limit of {self.limit:g} {_UNITS[self.name]} for models"


class Ledger:
    """Counts what calls used, and holds them to the run's limits; calls may come from several threads.

    The estimate of a prompt may be too small, so a call that is not alone needs twice its prompt. A server may not keep
    to the output budget, so the first call is made alone, and every one after a call that used more than it might. So
    all calls together pass a limit by one reply at most.
    """

    def __init__(self, tokens: int | None, cost: float | None, price: Price) -> None:
        self._limits = {"tokens": tokens, "cost": cost}
        self._price = price
        self._changed = threading.Condition()
        self._reserved: list[Reserved] = []
        self._calls = 0
        self._keeps_to_budget = True
        self._refused: set[Literal["tokens", "cost"]] = set()
        self.tokens = 0
        self.cost = 0.0
        """As far as it is known."""

    def count(self, usage: Usage, cost: float | None) -> None:
        """Add what a call used."""
        with self._changed:
            self.tokens += usage.input + usage.output
            self.cost += cost or 0.0
            self._calls += 1

    def exhausted(self) -> Exhausted | None:
        """The limit that is used up: reached, or with less left than a call takes on average after one was refused."""
        with self._changed:
            for name in ("tokens", "cost"):
                limit, used = self._limits[name], self._used(name)
                few = name in self._refused and self._calls and limit is not None
                if limit is not None and (used >= limit or (few and limit - used <= used / self._calls)):
                    return Exhausted(name, limit)
        return None

    @contextmanager
    def reserve(self, model: str, request: Request, until: float | None) -> Iterator[Reserved]:
        """Room for one call while it is made. Waits for other calls that hold it, at most until `until` on the
        monotonic clock; OverLimitError where there is none."""
        if all(limit is None for limit in self._limits.values()):
            yield Reserved(model, 0, request.sampling.max_tokens)
            return
        whole = Reserved(model, estimate_prompt(request.messages, request.tools), request.sampling.max_tokens)
        with self._changed:
            while self._reserved and not self._fits_beside(whole):
                left = None if until is None else until - time.monotonic()
                if left is not None and left <= 0:
                    break  # its time is up too, which whoever makes it will say
                self._changed.wait(left)
            reserved = whole if self._reserved else self._shrunk(whole)
            self._reserved.append(reserved)
        try:
            yield reserved
        finally:
            with self._changed:
                self._reserved.remove(reserved)
                self._changed.notify_all()

    def kept(self, reserved: Reserved, usage: Usage) -> None:
        """See whether a reply stayed within what its call had reserved."""
        if usage.output > reserved.output:
            self._keeps_to_budget = False

    def _used(self, name: str) -> float:
        return self.tokens if name == "tokens" else self.cost

    def _needs(self, name: str, call: Reserved, prompts: int) -> float:
        """What a call uses at most, if its prompt is so many times as long as estimated."""
        if name == "tokens":
            return prompts * call.prompt + call.output
        return self._price(call.model, Usage(input=prompts * call.prompt, output=call.output)) or 0.0

    def _fits_beside(self, call: Reserved) -> bool:
        if not self._calls or not self._keeps_to_budget:
            return False
        for name, limit in self._limits.items():
            held = sum(self._needs(name, each, 2) for each in (*self._reserved, call))
            if limit is not None and self._used(name) + held > limit:
                return False
        return True

    def _shrunk(self, call: Reserved) -> Reserved:
        """The call with the output that is left for it, where it is the only one."""
        output = call.output
        for name in ("tokens", "cost"):
            limit = self._limits[name]
            if limit is None:
                continue
            rest = limit - self._used(name)
            prompt = self._needs(name, Reserved(call.model, call.prompt, 0), 1)
            many = self._needs(name, Reserved(call.model, call.prompt, _MANY), 1) - prompt
            room = int((rest - prompt) * _MANY / many) if many > 0 else call.output if prompt <= rest else 0
            if room < 1 or rest <= 0:
                self._refused.add(name)
                raise OverLimitError(self._no_room(name, limit, rest, prompt), name=name, limit=limit)
            output = min(output, room)
        return Reserved(call.model, call.prompt, output)

    def _no_room(self, name: str, limit: float, rest: float, prompt: float) -> str:
        if rest <= 0:
            return f"The run has used up its limit of {limit:g} {_UNITS[name]} for models."
        return (
            f"The run's limit of {limit:g} {_UNITS[name]} for models leaves {rest:.4g}, and the prompt alone needs "
            f"about {prompt:.4g}."
        )
