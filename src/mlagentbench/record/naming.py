"""What an agent is called in tables and folders."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from mlagentbench.errors import UsageError

PROGRAM = "command"
"""The agent that is any program: what it does depends on its command alone, so each command is an agent of its own."""
_STARTERS = frozenset(
    {"env", "sh", "bash", "python", "python3", "node", "npx", "uv", "uvx", "run", "exec", "nice", "timeout"}
)
"""Programs that start another one, which says more than they do."""
_LONGEST = 32
_HOSTILE = re.compile(r"[^\w.+@=,-]")
_PLAIN = re.compile(r"[\w+-][\w.+-]*")


def in_a_path(name: str) -> str:
    """`name` as part of a path, without what shells and other systems give a meaning: `ollama_qwen2.5_7b`."""
    return _HOSTILE.sub("_", name)


def folder_name(agent: str, model: str) -> str:
    """The folder that runs of an agent with a model lie in."""
    return in_a_path(f"{agent}--{model or 'no-model'}")


def checked_label(label: str) -> str:
    if label and not _PLAIN.fullmatch(label):
        raise UsageError(
            f"{label!r} is no label; use letters, digits, '-', '_', '+' and dots, and no dot at the beginning."
        )
    return label


def called(agent: str, label: str, settings: Mapping[str, Any]) -> str:
    """The label that it was given; else the name of the agent, and for a program also which one it is."""
    command = settings.get("command")
    if label or agent != PROGRAM or not isinstance(command, str):
        return label or agent
    mark = hashlib.sha256(command.encode()).hexdigest()[:6]
    return "-".join(word for word in (agent, _program(command), mark) if word)


def _program(command: str) -> str:
    try:
        words = shlex.split(command)
    except ValueError:
        return ""
    names = [
        PurePosixPath(word).name
        for word in words
        if "=" not in word and not word.startswith("-") and not word.isdigit()
    ]
    told = next((name for name in names if name not in _STARTERS), names[0] if names else "")
    plain = "".join(letter for letter in told if letter.isalnum() or letter in "._+-")
    return plain.strip(".-")[:_LONGEST] if plain == told else ""
