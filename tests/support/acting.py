"""Taking actions, by hand and from a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mlagentbench import Action, Environment, Observation, Run, run
from mlagentbench.record.events import Event, StepTaken
from mlagentbench.record.folder import RunFolder


def listing(folder: str = ".") -> Action:
    return Action("List Files", {"dir_path": folder})


def reading(file: str) -> Action:
    return Action("Read File", {"file_name": file})


def writing(file: str, content: str) -> Action:
    return Action("Write File", {"file_name": file, "content": content})


def appending(file: str, content: str) -> Action:
    return Action("Append File", {"file_name": file, "content": content})


def copying(source: str, destination: str) -> Action:
    return Action("Copy File", {"source": source, "destination": destination})


def inspecting(script: str, first: int = 1, last: int = 50) -> Action:
    return Action(
        "Inspect Script Lines",
        {"script_name": script, "start_line_number": first, "end_line_number": last},
    )


def undoing(script: str) -> Action:
    return Action("Undo Edit Script", {"script_name": script})


def executing(script: str, *arguments: str) -> Action:
    return Action("Execute Script", {"script_name": script, "arguments": list(arguments)})


def repl(command: str) -> Action:
    return Action("Python REPL", {"command": command})


def submitting(answer: str = "Done.") -> Action:
    return Action("Final Answer", {"final_answer": answer})


def execute(env: Environment, code: str, *arguments: str, name: str = "try.py") -> Observation:
    """Write a script and run it."""
    written = env.step(writing(name, code))
    assert written.ok, written.text
    return env.step(executing(name, *arguments))


def content(env: Environment, file: str) -> str:
    observation = env.step(reading(file))
    assert observation.ok, observation.text
    return observation.text


def actions_file(file: Path, actions: list[Action]) -> Path:
    """What the scripted agent plays."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps({"name": a.name, "args": a.args}) + "\n" for a in actions))
    return file


def play(task: Path | str, actions: list[Action], runs: Path, **options: Any) -> Run:
    """A run of the scripted agent."""
    runs.mkdir(parents=True, exist_ok=True)
    file = actions_file(runs.parent / f"actions-{len(list(runs.parent.iterdir()))}.jsonl", actions)
    return run(task, "scripted", settings={"file": file}, runs=runs, **options)


def events_of(run: Run | Path) -> tuple[Event, ...]:
    return RunFolder.open(run.folder if isinstance(run, Run) else run).history().events


def steps_of(run: Run | Path) -> list[StepTaken]:
    return [event for event in events_of(run) if isinstance(event, StepTaken)]
