"""What a task offers to programs, for those that grading runs. Chats are answered by the stand-in, always."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from mlagentbench.service.offering import Index, Offer, Offered

if TYPE_CHECKING:
    from mlagentbench.grading.stages import Stage


def offered(stage: Stage, index: Index) -> AbstractContextManager[Offered]:
    """With the papers of `index`: `services` as an agent has them, `grading` the hidden ones."""
    prepared = stage.prepared
    return Offer(
        names=prepared.task.definition.services,
        private=prepared.private,
        index=index,
        own_network=stage.sandbox.own_network,
        network=stage.network,
        cache=stage.scratch / "papers-cache",
    ).open()
