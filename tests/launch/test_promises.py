"""What a sandbox cannot promise is refused in one sentence, before anything runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.tool_task import tool_task

from mlagentbench import audit, fork, grade, grade_file, resume, run
from mlagentbench.errors import SandboxUnavailableError
from mlagentbench.launch.checking import draft, stands_in_the_way
from mlagentbench.launch.reading import make_plan
from mlagentbench.sandbox import choose, diagnose
from mlagentbench.task.registry import in_suite, list_tasks

REFUSAL = (
    r"^librarian@1 needs services of the harness in the sandbox, and the landlock sandbox cannot run that: its rules "
    r"name ports and not addresses, .*\. (Use --sandbox \w+\.|To get a sandbox that can: .+)$"
)


@pytest.fixture
def landlock() -> None:
    try:
        choose("landlock")
    except SandboxUnavailableError as reason:
        pytest.skip(str(reason))


@pytest.fixture
def librarian(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, landlock: None) -> Path:
    monkeypatch.setenv("MLAGENTBENCH_CACHE", str(tmp_path / "cache"))
    return tool_task(tmp_path / "librarian")


def test_the_fallback_runs_no_task_with_services(librarian: Path, runs: Path) -> None:
    with pytest.raises(SandboxUnavailableError, match=REFUSAL):
        run(librarian, "starter", runs=runs, sandbox="landlock")
    assert list(runs.iterdir()) == []


def test_the_fallback_audits_no_task_with_services(librarian: Path) -> None:
    with pytest.raises(SandboxUnavailableError, match=REFUSAL):
        audit(librarian, variant="mini", sandbox="landlock")


def test_an_experiment_names_what_the_fallback_cannot_run_before_it_starts(
    librarian: Path, tiny_task: Path
) -> None:
    program = {"agent": "command", "settings": {"command": "true"}, "models": ["mock/fixed"]}
    plan = make_plan(
        {
            "tasks": [str(librarian), str(tiny_task)],
            "agents": ["starter", program],
            "models": ["mock/fixed"],
            "sandbox": "landlock",
        },
        "This",
    )
    lines = [SimpleNamespace(state="", wanted=each, cell=each.cell) for each in draft(plan).wanted]
    problems = stands_in_the_way(plan, lines, None)  # type: ignore[arg-type]
    refused = [problem for problem in problems if "cannot run that" in problem]
    assert len(refused) == 2
    assert refused[0].startswith("librarian@1 needs services")
    assert refused[1].startswith("An agent that is a program and asks a model needs services")


def test_a_run_from_elsewhere_is_neither_graded_nor_resumed_on_the_fallback(
    librarian: Path, runs: Path
) -> None:
    made = run(librarian, "starter", runs=runs, sandbox="none", limits={"steps": 1})
    attempts: tuple[Callable[[], object], ...] = (
        lambda: grade(made.folder, sandbox="landlock"),
        lambda: resume(made.folder, sandbox="landlock"),
        lambda: grade_file(librarian, librarian / "starter" / "tool.py", variant="mini", sandbox="landlock"),
    )
    for attempt in attempts:
        with pytest.raises(SandboxUnavailableError, match=REFUSAL):
            attempt()


def test_a_program_that_asks_a_model_is_refused_and_one_that_asks_none_runs(
    tiny_task: Path, runs: Path, landlock: None
) -> None:
    settings = {"command": "true"}
    (runs.parent / "script.jsonl").write_text('{"text": "hello"}\n')
    model = f"mock/{runs.parent}/script.jsonl"
    with pytest.raises(SandboxUnavailableError, match=r"^An agent that is a program and asks a model needs"):
        run(tiny_task, "command", model, settings=settings, runs=runs, sandbox="landlock")
    assert list(runs.iterdir()) == []
    made = run(tiny_task, "command", settings=settings, runs=runs, sandbox="landlock")
    assert made.grade is not None
    with pytest.raises(SandboxUnavailableError, match=r"^An agent that is a program and asks a model needs"):
        fork(made.folder, 0, model=model)
    assert [found.parent for found in runs.rglob("run.json")] == [made.folder]


def test_four_tasks_of_the_suite_are_refused_on_the_fallback_and_doctor_says_why(landlock: None) -> None:
    cannot = choose("landlock").cannot
    suite = [task for task in list_tasks() if in_suite(task)]
    refused = {task.name for task in suite if set(task.definition.promises) & set(cannot)}
    assert refused == {"bibtex-generation", "literature-review-tool", "llama-inference", "vectorization"}
    (finding,) = (each for each in diagnose() if each.backend == "landlock")
    assert all(reason in finding.detail for reason in cannot.values())
