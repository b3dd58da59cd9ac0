"""Run folders in the layout of the original benchmark, made up: whole ones, and ones to be damaged."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

STARTED = 1_690_000_000.0
"""In July 2023."""

_LINE = "=" * 19


@dataclass
class Turn:
    """A step of the made-up agent, ten seconds after the one before."""

    action: str
    args: Any = None
    seen: str = "done"
    files: dict[str, str] | None = field(default_factory=dict)
    """What the workspace holds besides afterwards; None: no copy of it was kept."""
    primitives: Sequence[tuple[str, dict[str, Any], str]] = ()
    tool_replies: Sequence[str] = ()
    """What models answered inside of the action."""


def submission(rows: int = 200) -> str:
    return "id,target\n" + "".join(f"{row},{row % 3}\n" for row in range(rows))


TURNS = [
    Turn("List Files", {"dir_path": "."}, "train.py\n", {}),
    Turn(
        "Edit Script (AI)",
        {"script_name": "train.py", "edit_instruction": "train longer", "save_name": "train.py"},
        "The edited file is saved to train.py.",
        {"train.py": "print('epochs: 20, accuracy: 0.91')\n"},
        [("Read File", {"file_name": "train.py"}, "old"), ("Write File", {"file_name": "train.py"}, "written")],
        ["```python\nprint('epochs: 20')\n```"],
    ),
    Turn(
        "Execute Script",
        {"script_name": "train.py"},
        "epochs: 20, accuracy: 0.91\n",
        {"submission.csv": submission()},
    ),
    Turn("Final Answer", {"final_answer": "Accuracy 0.91."}, "end"),
]  # fmt: skip


def call_log(prompt: str, reply: str, model: str, tokens: tuple[int, int] = (1200, 80)) -> str:
    return (
        f"\n{_LINE}prompt{_LINE}==\n\n\nHuman: {prompt} \n\nAssistant:"
        f"\n{_LINE}{model} response (2000){_LINE}==\n{reply}"
        f"\n{_LINE}tokens{_LINE}==\nNumber of prompt tokens: {tokens[0]}\nNumber of sampled tokens: {tokens[1]}\n\n\n"
    )


def old_run(
    folder: Path,
    turns: Sequence[Turn] = TURNS,
    *,
    task: str = "cifar10",
    agent: str = "ResearchAgent",
    model: str = "claude-v1",
    starter: dict[str, str] | None = None,
    flags: dict[str, Any] | None = None,
) -> Path:
    """A whole folder, as a run that went to its end leaves it."""
    env, thoughts = folder / "env_log", folder / "agent_log"
    for place in (env / "traces", env / "tool_logs", thoughts):
        place.mkdir(parents=True)
    workspace = {"train.py": "print('epochs: 2')\n", **(starter or {})}
    steps, inner = [], []
    main = [f"Enabled Tools in Prompt:['List Files']\n{'=' * 32}Start{'=' * 29}\nYou are a researcher.\n"]
    for number, turn in enumerate(turns):
        now = STARTED + 10.0 * (number + 1)
        inner += [
            {"action": {"name": name, "args": args}, "observation": seen, "timestamp": now - 5 + place}
            for place, (name, args, seen) in enumerate(turn.primitives)
        ]
        args = {} if turn.args is None else turn.args
        steps.append(
            {"action": {"name": turn.action, "args": args}, "observation": turn.seen, "timestamp": now}
        )
        workspace |= turn.files or {}
        if turn.files is not None:
            write_files(env / "traces" / f"step_{number}_files", workspace)
        said = f"Thought: I take step {number}.\nAction: {turn.action}\nAction Input: {json.dumps(args)}"
        main.append(f"Step {number}:\n\n\nAssistant:\n{said}\nObservation:\n\n```\n{turn.seen}\n```\n\n")
        (thoughts / f"step_{number}_log.log").write_text(call_log(f"Step {number}?", said, model))
        for place, reply in enumerate(turn.tool_replies):
            log = env / "tool_logs" / f"step_{number}_tool_log.log{f'_{place}' if place else ''}"
            log.write_text(call_log("Edit this.", reply, model, (300, 40)))
        state = {"args": {"task": task, "agent_type": agent, "llm_name": model, "fast_llm_name": model,
                          "edit_script_llm_name": model, "max_steps": 50, "max_time": 18000, **(flags or {})},
                 "history_steps": [], "log_dir": "logs"}  # fmt: skip
        (thoughts / f"agent_{number}_{number}.json").write_text(json.dumps(state, indent=4))
    write_files(env / "traces" / "step_final_files", workspace)
    trace = {
        "steps": steps,
        "low_level_steps": inner,
        "action_infos": {name: {"name": name} for name in ("List Files", "Execute Script", "Final Answer")},
        "task_description": "Improve train.py so that it is more accurate.",
    }
    (env / "trace.json").write_text(json.dumps(trace, indent=4))
    (env / "overall_time.txt").write_text(str(10.0 * len(turns) + 2.5))
    (thoughts / "main_log").write_text("".join(main))
    return folder


def write_files(folder: Path, files: dict[str, str]) -> None:
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
