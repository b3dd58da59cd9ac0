"""Which protocol a decision is asked for in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from mlagentbench.agent.json_protocol import JsonSpeech
from mlagentbench.agent.protocol import ProtocolName, Speech, Vocabulary
from mlagentbench.agent.text_protocol import TextSpeech
from mlagentbench.agent.tool_protocol import ToolSpeech
from mlagentbench.environment import Environment
from mlagentbench.errors import UsageError
from mlagentbench.model.spec import Request
from mlagentbench.record.events import ModelCalled

_SPEECHES: dict[ProtocolName, Callable[[Vocabulary], Speech]] = {
    "text": TextSpeech,
    "tools": ToolSpeech,
    "json": JsonSpeech,
}


class Speaker:
    """The protocol of the settings. Calls that are replayed keep theirs, so that a run can be forked to a model that
    speaks another one."""

    def __init__(
        self,
        env: Environment,
        protocol: Literal["text", "tools", "json", "auto"],
        vocabulary: Vocabulary,
        own: Callable[[Vocabulary], Speech] | None = None,
    ) -> None:
        able = env.model("act").speaks_tools
        if protocol == "tools" and not able:
            raise UsageError(
                f"{env.model('act').name} has no native tool calling. Use the protocol text, json or auto."
            )
        self._recorded = _recorded(env)
        self._chosen: ProtocolName = ("tools" if able else "text") if protocol == "auto" else protocol
        self._vocabulary = vocabulary
        self._own = own

    def next(self, offered: tuple[str, ...] = ()) -> Speech:
        """For the call that comes next, in which only some actions may be offered."""
        speech = self._own or _SPEECHES[self._recorded[0] if self._recorded else self._chosen]
        return speech(replace(self._vocabulary, offered=offered))

    def asked(self) -> None:
        """A call has been made, or replayed."""
        del self._recorded[:1]


def _recorded(env: Environment) -> list[ProtocolName]:
    """Of each decision that the record tells of, how it was asked for."""
    store = env.folder.store()
    calls = [event for event in env.folder.history().events if isinstance(event, ModelCalled)]
    protocols: list[ProtocolName] = []
    for call in calls:
        if call.role == "act" and not call.inside:
            asked = Request.model_validate_json(store.get(call.request))
            protocols.append("tools" if asked.tools else "json" if asked.sampling.json_schema else "text")
    return protocols
