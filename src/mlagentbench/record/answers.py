"""A model that answers what another one answered in a recorded run."""

from __future__ import annotations

import hashlib
import threading
from collections import defaultdict, deque
from collections.abc import Sequence

from mlagentbench.model.errors import ModelError
from mlagentbench.model.spec import Completion, Message, Request, Sampling, Tool
from mlagentbench.record.events import ModelCalled
from mlagentbench.record.folder import RunFolder


class RecordedModel:
    """The same question gets the same answer; a question that was not asked then has none."""

    def __init__(self, name: str, folder: RunFolder) -> None:
        self.name = name
        self._run = folder.path
        self._lock = threading.Lock()
        self._answers: dict[str, deque[Completion]] = defaultdict(deque)
        store = folder.store()
        self.speaks_tools = False
        for event in folder.history().events:
            if isinstance(event, ModelCalled) and event.completion is not None:
                self._answers[event.request].append(event.completion)
                if not self.speaks_tools:
                    self.speaks_tools = bool(Request.model_validate_json(store.get(event.request)).tools)

    def complete(
        self, messages: Sequence[Message], sampling: Sampling, tools: Sequence[Tool] = ()
    ) -> Completion:
        request = Request(messages=tuple(messages), sampling=sampling, tools=tuple(tools))
        name = hashlib.sha256(request.model_dump_json().encode()).hexdigest()
        with self._lock:
            if not self._answers[name]:
                raise ModelError(
                    f"The model was not asked this in {self._run}, so there is no answer to repeat. Use the same task, "
                    f"agent, settings and seed as that run, or a real model."
                )
            return self._answers[name].popleft()
