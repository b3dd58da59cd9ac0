"""A benchmark in which language agents do machine-learning research, with results that can be trusted.

Importing this package costs next to nothing: each name is loaded when it is first used.

>>> import mlagentbench
>>> mlagentbench.Action("List Files", {"dir_path": "."}).name
'List Files'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlagentbench._lazy import attach
from mlagentbench.version import __version__

if TYPE_CHECKING:
    from mlagentbench.auditing.audit import audit
    from mlagentbench.cli.catalogue import info, list, prepare  # noqa: A004 - a verb's function has its name
    from mlagentbench.cli.health import doctor
    from mlagentbench.cli.reading import checkout, show
    from mlagentbench.environment.environment import Environment
    from mlagentbench.environment.making import make
    from mlagentbench.environment.trust import trust
    from mlagentbench.errors import RunOverError
    from mlagentbench.evaluation.annotating import annotate
    from mlagentbench.evaluation.groups import compare
    from mlagentbench.evaluation.importing import import_runs
    from mlagentbench.evaluation.paper import published
    from mlagentbench.evaluation.stepwise import grade_steps
    from mlagentbench.evaluation.verdicts import grade, grade_file
    from mlagentbench.grading.grade import Grade
    from mlagentbench.launch.applying import apply
    from mlagentbench.launch.assisting import assist
    from mlagentbench.launch.experiment import experiment
    from mlagentbench.launch.run import Run, fork, resume, run
    from mlagentbench.launch.verify import verify
    from mlagentbench.record.collecting import gc
    from mlagentbench.record.exporting import export
    from mlagentbench.record.packing import pack
    from mlagentbench.record.steps import Action, Observation
    from mlagentbench.record.unpacking import unpack
    from mlagentbench.reporting.report import report
    from mlagentbench.task.definition import Task
    from mlagentbench.task.new import new_task
    from mlagentbench.task.registry import load_task

__all__ = [
    "Action",
    "Environment",
    "Grade",
    "Observation",
    "Run",
    "RunOverError",
    "Task",
    "__version__",
    "annotate",
    "apply",
    "assist",
    "audit",
    "checkout",
    "compare",
    "doctor",
    "experiment",
    "export",
    "fork",
    "gc",
    "grade",
    "grade_file",
    "grade_steps",
    "import_runs",
    "info",
    "list",
    "load_task",
    "make",
    "new_task",
    "pack",
    "prepare",
    "published",
    "report",
    "resume",
    "run",
    "show",
    "trust",
    "unpack",
    "verify",
]

__getattr__, __dir__ = attach(
    __name__,
    {
        "Action": "mlagentbench.record.steps",
        "Environment": "mlagentbench.environment.environment",
        "Grade": "mlagentbench.grading.grade",
        "Observation": "mlagentbench.record.steps",
        "Run": "mlagentbench.launch.run",
        "RunOverError": "mlagentbench.errors",
        "Task": "mlagentbench.task.definition",
        "annotate": "mlagentbench.evaluation.annotating",
        "apply": "mlagentbench.launch.applying",
        "assist": "mlagentbench.launch.assisting",
        "audit": "mlagentbench.auditing.audit",
        "checkout": "mlagentbench.cli.reading",
        "compare": "mlagentbench.evaluation.groups",
        "doctor": "mlagentbench.cli.health",
        "experiment": "mlagentbench.launch.experiment",
        "export": "mlagentbench.record.exporting",
        "fork": "mlagentbench.launch.run",
        "gc": "mlagentbench.record.collecting",
        "grade": "mlagentbench.evaluation.verdicts",
        "grade_file": "mlagentbench.evaluation.verdicts",
        "grade_steps": "mlagentbench.evaluation.stepwise",
        "import_runs": "mlagentbench.evaluation.importing",
        "info": "mlagentbench.cli.catalogue",
        "list": "mlagentbench.cli.catalogue",
        "load_task": "mlagentbench.task.registry",
        "make": "mlagentbench.environment.making",
        "new_task": "mlagentbench.task.new",
        "pack": "mlagentbench.record.packing",
        "prepare": "mlagentbench.cli.catalogue",
        "published": "mlagentbench.evaluation.paper",
        "report": "mlagentbench.reporting.report",
        "resume": "mlagentbench.launch.run",
        "run": "mlagentbench.launch.run",
        "show": "mlagentbench.cli.reading",
        "trust": "mlagentbench.environment.trust",
        "unpack": "mlagentbench.record.unpacking",
        "verify": "mlagentbench.launch.verify",
    },
)
