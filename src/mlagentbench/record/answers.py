"""A model that answers what another one answered in a recorded run."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence

from mlagentbench import bounds
from mlagentbench.model.errors import ModelError
from mlagentbench.model.spec import Completion, Message, Request, Sampling, Tool
from mlagentbench.record.events import ModelCalled
from mlagentbench.record.folder import RunFolder


class RecordedModel:
    """The same question gets the same answer. Questions differ in small things from run to run, such as the seconds
    that a script took, so one that was not asked then gets the first answer that is left, with a note."""

    def __init__(self, name: str, folder: RunFolder) -> None:
        self.name = name
        self._run = folder.path
        self._lock = threading.Lock()
        self._left = [
            event
            for event in folder.history().events
            if isinstance(event, ModelCalled) and event.completion is not None
        ]
        store = folder.store()
        asked = (Request.model_validate_json(store.get(call.request, bounds.QUESTION)) for call in self._left)
        self.speaks_tools = any(request.tools for request in asked)

    def complete(
        self, messages: Sequence[Message], sampling: Sampling, tools: Sequence[Tool] = ()
    ) -> Completion:
        request = Request(messages=tuple(messages), sampling=sampling, tools=tuple(tools))
        name = hashlib.sha256(request.model_dump_json().encode()).hexdigest()
        with self._lock:
            if not self._left:
                raise ModelError(
                    f"Every answer that was recorded in {self._run} is used up. Go on with a real model."
                )
            place = next((index for index, call in enumerate(self._left) if call.request == name), None)
            call = self._left.pop(place or 0)
        assert call.completion is not None
        if place is None:
            note = "The question was another one when this was recorded; answered in the order of the record."
            return call.completion.model_copy(update={"notes": (*call.completion.notes, note)})
        return call.completion
