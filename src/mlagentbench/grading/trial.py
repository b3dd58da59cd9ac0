"""Running a task's own code as it lies there, starter, plain or oracle, and grading what comes out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from mlagentbench.grading.offering import offered
from mlagentbench.grading.references import Kind
from mlagentbench.grading.stages import Stage
from mlagentbench.sandbox import Job, Result
from mlagentbench.task.layout import layout, overlay_of, program_environment
from mlagentbench.workspace import Store, Workspace


@dataclass(frozen=True)
class Trial:
    """What the entry script printed, how it ended, and the workspace that it left."""

    result: Result
    output: str
    store: Store
    snapshot: str

    @property
    def ran(self) -> bool:
        return self.result.exit_status == 0 and self.result.limit is None


def try_out(stage: Stage, kind: Kind, seed: int, folder: Path) -> Trial:
    """Lay out the starter and what `kind` puts over it in `folder`, and run the task's entry script there."""
    overlay = overlay_of(stage.prepared.task, kind)
    entry = (stage.prepared.task.definition.entry,)
    return run_in_workspace(stage, folder, entry, overlay=overlay, environment=program_environment(seed))


def run_in_workspace(
    stage: Stage,
    folder: Path,
    arguments: tuple[str, ...],
    *,
    overlay: Path | None = None,
    environment: Mapping[str, str] | None = None,
    stdin: bytes = b"",
) -> Trial:
    """Lay out a workspace in `folder` as an agent would find it, and run the task's interpreter there."""
    prepared = stage.prepared
    plan = layout(prepared)
    workspace = Workspace(
        folder / "workspace",
        Store(folder / "store"),
        plan.read_only,
        link_read_only=stage.sandbox.links_read_only(),
        max_file=stage.limits.disk,
    )
    plan.lay(workspace.folder, overlay)
    workspace.lay_placeholders()
    job = Job(
        argv=(str(prepared.interpreter.python), *arguments),
        workspace=workspace.folder,
        limits=stage.limits,
        interpreter=prepared.interpreter,
        read_only=plan.read_only,
        hidden=stage.hidden,
        environment=environment or {},
    )
    with offered(stage, "services") as offer:
        found = {**job.environment, **offer.environment}
        served = replace(job, services=offer.services, environment=found)
        result, said = stage.run(served, stdin)
    snapshot = workspace.snapshot(executed=True)
    return Trial(result, said.decode("utf-8", "replace"), workspace.store, snapshot.id)
