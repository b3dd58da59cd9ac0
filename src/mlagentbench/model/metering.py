"""What a run has spent on models: by role and in all, in tokens and in money."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

from mlagentbench.model.prices import Overrides, cost
from mlagentbench.model.spec import Completion, Message, Model, Sampling, Tool, Usage

CallRole = Literal["act", "edit", "fast"]
"""What a model is called for: to choose actions, to edit files, for quick summaries."""


class Spent(BaseModel):
    """What calls have used. Of an unknown price, `cost` is only the part that is known, and `unpriced` counts."""

    model_config = ConfigDict(frozen=True)

    calls: int = 0
    usage: Usage = Usage()
    known_cost: float = 0.0
    """US dollars of the calls whose price is known."""
    unpriced: int = 0
    """Calls whose price is not known."""
    latency: float = 0.0
    waited: float = 0.0
    retries: int = 0

    @property
    def cost(self) -> float | None:
        """US dollars of all calls; None if the price of any is unknown."""
        return None if self.unpriced else self.known_cost

    @property
    def tokens(self) -> int:
        return self.usage.input + self.usage.output

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            calls=self.calls + other.calls,
            usage=self.usage + other.usage,
            known_cost=self.known_cost + other.known_cost,
            unpriced=self.unpriced + other.unpriced,
            latency=self.latency + other.latency,
            waited=self.waited + other.waited,
            retries=self.retries + other.retries,
        )


class Meter:
    """Running totals; calls may be added from several threads."""

    def __init__(self, prices: Overrides | None = None) -> None:
        self._prices = dict(prices or {})
        self._by_role: dict[CallRole, Spent] = {}
        self._lock = threading.Lock()

    def add(self, role: CallRole, model: str, completion: Completion) -> Spent:
        """Count a completion of `model` (`provider/name`), and say what it alone has used."""
        price = cost(completion.usage, model, self._prices)
        spent = Spent(
            calls=1,
            usage=completion.usage,
            known_cost=price or 0.0,
            unpriced=int(price is None),
            latency=completion.latency,
            waited=completion.waited,
            retries=len(completion.retries),
        )
        with self._lock:
            self._by_role[role] = self._by_role.get(role, Spent()) + spent
        return spent

    @property
    def by_role(self) -> dict[CallRole, Spent]:
        with self._lock:
            return dict(self._by_role)

    @property
    def total(self) -> Spent:
        return sum(self.by_role.values(), Spent())


class Metered:
    """`model`, with each completion counted under `role`."""

    def __init__(self, model: Model, meter: Meter, role: CallRole) -> None:
        self.name = model.name
        self.inner = model
        self._meter = meter
        self._role: CallRole = role

    @property
    def speaks_tools(self) -> bool:
        return self.inner.speaks_tools

    def complete(
        self, messages: Sequence[Message], sampling: Sampling, tools: Sequence[Tool] = ()
    ) -> Completion:
        completion = self.inner.complete(messages, sampling, tools)
        self._meter.add(self._role, self.name, completion)
        return completion
