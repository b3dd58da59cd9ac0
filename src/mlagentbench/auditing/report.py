"""What an audit found."""

from __future__ import annotations

from pydantic import BaseModel

from mlagentbench.grading.references import References


class Item(BaseModel):
    """One thing that was to be proved of a task."""

    name: str
    ok: bool
    """That it does not fail; whether it holds is known only if it was measured."""
    detail: str
    measured: bool = True


class AuditReport(BaseModel):
    task: str
    variant: str
    items: list[Item] = []
    references: References = References()

    @property
    def ok(self) -> bool:
        return all(item.ok for item in self.items)

    @property
    def failures(self) -> list[Item]:
        return [item for item in self.items if not item.ok]

    @property
    def unmeasured(self) -> list[Item]:
        return [item for item in self.items if not item.measured]
