"""Sentences that an agent puts into the record, each once, however often the run is resumed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping

from mlagentbench.environment import Environment
from mlagentbench.record.events import Note


class Notes:
    """Knows what the record held when the agent began, and does not say that again."""

    def __init__(self, env: Environment) -> None:
        self._env = env
        past = (event for event in env.folder.history().events if isinstance(event, Note))
        self._told = Counter(_key(event.text, event.data) for event in past)

    def say(self, text: str, data: Mapping[str, object] | None = None) -> None:
        key = _key(text, data or {})
        if self._told[key]:
            self._told[key] -= 1
        else:
            self._env.note(text, data)


def _key(text: str, data: Mapping[str, object]) -> str:
    return json.dumps([text, data], sort_keys=True)
