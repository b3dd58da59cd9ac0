"""All that tables and reports need of a run, in one small file beside its record. It may be deleted: it is made again.

The summary, which the record keeps, is in it as it is; what stands around it needs parts above the record.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mlagentbench import bounds
from mlagentbench.errors import MLAgentBenchError
from mlagentbench.evaluation import claims as claiming
from mlagentbench.evaluation import failures as failing
from mlagentbench.evaluation import process as counting
from mlagentbench.evaluation.anytime import Point, best_of, points_of
from mlagentbench.evaluation.claims import Claims, check_claims
from mlagentbench.evaluation.failures import Failure, find_failure
from mlagentbench.evaluation.process import Process, process_of
from mlagentbench.grading.scoring import THRESHOLD
from mlagentbench.record.events import Event, ModelCalled, RunEnded, RunStarted, StepTaken
from mlagentbench.record.files import read_part
from mlagentbench.record.folder import RunFolder
from mlagentbench.record.grades import read_grades
from mlagentbench.record.request import RunRequest
from mlagentbench.record.sealed import read_sealed, write_sealed
from mlagentbench.record.summary import Summary, derive
from mlagentbench.task.definition import Task
from mlagentbench.task.registry import is_installed, load_task

_RULES = f"2.{counting.RULES}.{claiming.RULES}.{failing.RULES}"
"""Of everything that is derived here."""


class _Kept(BaseModel):
    model_config = ConfigDict(frozen=True)


class Basis(_Kept):
    """What a profile was made from; where any of it has changed, it is made anew."""

    rules: str
    head: str
    grades: str
    annotations: str
    foreign: bool = False


class Subject(_Kept):
    """What the run was of, beyond what its summary says."""

    category: str = ""
    """Of the task; empty where the task cannot be found any more."""
    data_date: str = ""
    """When the task's published data became public, as YYYY-MM; empty where they have no date."""
    made_up: bool = False
    """Whether this variant's data were made from a seed, so that nobody can have seen them before."""
    data: str
    """Hash over the prepared data."""
    experiment: str
    agent: str
    """The agent itself; the summary has the label that an experiment gave it."""
    settings: dict[str, Any] = Field(default_factory=dict)
    settings_hash: str
    """First digits of a hash over the settings, limits and actions; runs that differ in it were asked differently."""
    edit_model: str = ""
    fast_model: str = ""
    created: float
    version: str
    host: str
    forked: bool = False


class Times(_Kept):
    """Where the seconds of a run went. Calls of models that go on side by side count each, so that they can be more
    than the run took; then nothing is left for the harness."""

    model: float
    """Answered requests."""
    waiting: float
    """Failed requests, and waiting between them."""
    execution: float
    """The agent's programs, without the time in which they waited for a model."""
    harness: float
    """The rest: the harness, and the agent's own work between steps."""


class Profile(_Kept):
    format: int = 1
    basis: Basis
    subject: Subject
    summary: Summary
    times: Times | None
    """None where nobody knows, as of an imported run."""
    process: Process
    claims: Claims = Claims()
    failure: Failure | None = None
    points: tuple[Point, ...] = ()
    """Its graded moments; all of them after `grade --every-step`, else the last."""
    every_step: bool = False
    """Whether each of its snapshots was graded."""
    best: Point | None = None

    @property
    def gain(self) -> float | None:
        """The improvement; 0 without a valid grade. None where the task's metric has no direction."""
        grade = self.summary.grade
        return grade.improvement if grade is not None and grade.valid else 0.0

    @property
    def success(self) -> bool:
        grade = self.summary.grade
        return grade is not None and grade.valid and grade.success

    def success_at(self, threshold: str) -> bool:
        """At `5%`, `10%`, `20%` or `30%`."""
        grade = self.summary.grade
        return grade is not None and grade.valid and grade.success_at.get(threshold, False)

    @property
    def decided(self) -> bool:
        grade = self.summary.grade
        return grade is not None and grade.valid and grade.decided

    @property
    def success_over_plain(self) -> bool | None:
        """Better than the plain model by more than the published threshold; None where that was not measured."""
        grade = self.summary.grade
        if grade is None or not grade.valid or grade.withheld:
            return False
        return None if grade.over_plain is None else grade.over_plain > THRESHOLD

    @property
    def position(self) -> float | None:
        """0 at the starter, 1 at the oracle; 0 without a valid grade. None where the oracle was not measured."""
        grade = self.summary.grade
        return grade.position if grade is not None and grade.valid else 0.0

    @property
    def lost_since_best(self) -> float | None:
        """By how much the best snapshot was better than the last; None unless every step was graded."""
        if not self.every_step or self.gain is None:
            return None
        return max(0.0, self.best.gain - self.gain) if self.best else 0.0


def read_profile(folder: RunFolder) -> Profile:
    """The kept profile; a new one where there is none, or where it is of something else than the run is now."""
    data = read_sealed(folder.evaluation_file, folder.request_bytes())
    try:
        kept = Profile.model_validate_json(data) if data is not None else None
    except ValidationError:
        kept = None
    if kept is None:
        return make_profile(folder)
    return kept if kept.basis == _basis(folder, folder.head()) else make_profile(folder)


def make_profile(folder: RunFolder) -> Profile:
    """The profile of the run as it is now; kept beside the record if the run has ended."""
    profile = derive_profile(folder)
    if profile.summary.ended and os.access(folder.path, os.W_OK):
        write_sealed(folder.evaluation_file, profile.model_dump_json().encode(), folder.request_bytes())
    return profile


def derive_profile(folder: RunFolder) -> Profile:
    """The profile of the run as it is now; nothing is written."""
    request = folder.request()
    history = folder.history()
    events = history.events
    basis = _basis(folder, history.head)
    grades = read_grades(folder)
    summary = derive(folder, history)
    points = points_of(events, grades, summary.unknown)
    process = process_of(events)
    claims = check_claims(folder, events)
    return Profile(
        basis=basis,
        subject=_subject(folder, request),
        summary=summary,
        times=_times(events, summary),
        process=process,
        claims=claims,
        failure=find_failure(folder, request, events, summary.grade, process, claims),
        points=points,
        every_step=all(snapshot in grades for snapshot in _snapshots(events)),
        best=best_of(points),
    )


def _basis(folder: RunFolder, head: str) -> Basis:
    return Basis(
        rules=_RULES,
        head=head,
        grades=_digest(folder.grades_file),
        annotations=_digest(folder.annotations_file),
        foreign=folder.origin == "foreign",
    )


def _digest(file: Path) -> str:
    try:
        return hashlib.sha256(read_part(file.parent, file.name, bounds.DERIVED)).hexdigest()[:32]
    except FileNotFoundError:
        return ""


def _snapshots(events: Sequence[Event]) -> set[str]:
    return {event.snapshot for event in events if isinstance(event, RunStarted | StepTaken | RunEnded)}


def _subject(folder: RunFolder, request: RunRequest) -> Subject:
    task = None
    if request.task_folder and folder.origin != "foreign":  # a folder that a stranger names is not looked at
        task = _task(request.task_folder)
    elif is_installed(request.task.partition("@")[0]):
        task = _task(request.task)
    variant = task.definition.variants.get(request.variant.partition("=")[0]) if task else None
    asked = [request.settings, request.limits.model_dump(), request.actions, request.network]
    return Subject(
        category=task.definition.category if task else "",
        data_date=task.definition.data_date if task else "",
        made_up=variant is not None and not variant.sources,
        data=request.data_digest,
        experiment=folder.path.parents[2].name if len(folder.path.parents) > 2 else "",
        agent=request.agent,
        settings=request.settings,
        settings_hash=hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:12],
        edit_model=request.edit_model,
        fast_model=request.fast_model,
        created=request.created,
        version=request.version,
        host=hashlib.sha256(request.host.model_dump_json().encode()).hexdigest()[:12],
        forked=request.origin is not None,
    )


@lru_cache(maxsize=256)
def _task(name: str) -> Task | None:
    """What a run was of, by name or folder, if it is still to be found; of another version if need be, since neither
    category nor date of the data is what versions differ in."""
    for known_as in dict.fromkeys((name, name.partition("@")[0])):
        try:
            return load_task(known_as) if known_as else None
        except MLAgentBenchError:
            continue
    return None


def _times(events: Sequence[Event], summary: Summary) -> Times | None:
    if {"time", "execution"} & set(summary.unknown):
        return None
    model = waiting = asked_by_programs = last = 0.0
    for event in events:
        if isinstance(event, ModelCalled):
            if event.completion is None:
                waiting += event.waited or max(0.0, event.elapsed - last)
            else:
                model += event.completion.latency
                waiting += event.completion.waited
                if event.role == "tool":
                    asked_by_programs += event.completion.latency + event.completion.waited
        if isinstance(event, ModelCalled | StepTaken):
            last = event.elapsed
    execution = max(0.0, summary.execution_wall - asked_by_programs)
    rest = summary.elapsed - model - waiting - execution
    return Times(model=model, waiting=waiting, execution=execution, harness=max(0.0, rest))
