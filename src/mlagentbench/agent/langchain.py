"""An agent of LangChain on LangGraph: its tools are our actions, and its chat model is the run's own."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from typing import Any, Literal

from langchain.agents import create_agent
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import StructuredTool
from pydantic import ConfigDict, Field

from mlagentbench.agent.prompting import prompt
from mlagentbench.agent.shortening import cut
from mlagentbench.agent.spec import Needs, Settings
from mlagentbench.agent.tool_protocol import tool_name
from mlagentbench.agent.zero_shot import END, ZeroShot
from mlagentbench.environment import Environment
from mlagentbench.environment.actions.registry import all_actions
from mlagentbench.errors import UsageError
from mlagentbench.model.errors import TooLongError
from mlagentbench.model.spec import Completion, Message, Sampling, Tool, ToolCall
from mlagentbench.record import Action

_NO_LIMIT = 1_000_000
"""Of the graph's own: the run's limits hold."""
_ONLY_FIRST = "[Only the first of the {count} calls was carried out. Call one tool at a time.]"
_OVER = "The run is over."


class LangChainSettings(Settings):
    protocol: Literal["auto", "tools", "text"] = Field(
        "auto",
        description="how it speaks with the model: native tool calls, the paper's zero-shot ReAct in text, or tools if "
        "the model has them and else text",
    )
    temperature: float = Field(0.5, ge=0, description="of the model")
    max_tokens: int = Field(2_000, ge=1, description="output tokens of one reply")
    observation_limit: int = Field(
        5_000, ge=100, description="characters of an observation beyond which its middle is left out"
    )


class LangChainAgent:
    Settings = LangChainSettings

    def __init__(self, settings: LangChainSettings) -> None:
        self._settings = settings
        self.needs = Needs(tools=settings.protocol == "tools")

    def run(self, env: Environment) -> None:
        sampling = Sampling(max_tokens=self._settings.max_tokens, temperature=self._settings.temperature)
        able = env.model("act").speaks_tools
        if self._settings.protocol == "tools" and not able:
            raise UsageError(
                f"{env.model('act').name} has no native tool calling. Use the protocol text or auto of the agent "
                "'langchain'."
            )
        if self._settings.protocol == "text" or not able:
            return ZeroShot(env, sampling, self._settings.observation_limit).run()
        hand = _Hand(env, self._settings.observation_limit)
        model = _DeskModel(env=env, hand=hand, sampling=sampling)
        graph = create_agent(
            model, hand.tools(), system_prompt=prompt("langchain_system", problem=env.problem)
        )
        begin: Any = {"messages": [HumanMessage(prompt("begin"))]}
        try:
            result = graph.invoke(begin, {"recursion_limit": _NO_LIMIT})
        except _OverError:
            return
        if not env.done:
            answer = str(result["messages"][-1].text)
            env.step(Action(END, {"final_answer": answer or "[The last reply was empty.]"}))


class _OverError(Exception):
    """There is nothing more to ask; ends the graph."""


class _Hand:
    """Carries out what the graph's tools are called for, one after the other."""

    def __init__(self, env: Environment, limit: int) -> None:
        self._env = env
        self._limit = limit
        self._lock = threading.Lock()
        self.said = 1
        """Calls in the last reply."""

    def tools(self) -> list[StructuredTool]:
        """Of all actions that are accepted; the model is told of those that are shown."""
        return [
            self._tool(name, kind.schema())
            for name, kind in all_actions().items()
            if name in self._env.actions or not kind.needs_showing
        ]

    def _tool(self, action: str, schema: dict[str, Any]) -> StructuredTool:
        return StructuredTool(
            name=tool_name(action),
            description=schema["description"],
            args_schema=schema["parameters"],
            func=self._doing(action),
            return_direct=action == END,
        )

    def _doing(self, action: str) -> Callable[..., str]:
        def do(**arguments: Any) -> str:
            with self._lock:
                if self._env.done:
                    return _OVER
                text = cut(self._env.step(Action(action, arguments)).text, self._limit)
            return text if self.said == 1 else f"{text}\n{_ONLY_FIRST.format(count=self.said)}"

        return do


class _DeskModel(BaseChatModel):
    """The run's act model as LangChain speaks with one. Each call is recorded, and replayed when a run is resumed."""

    model_config = ConfigDict(arbitrary_types_allowed=True)
    env: Any
    hand: Any
    sampling: Sampling
    offered: tuple[Tool, ...] = ()

    @property
    def _llm_type(self) -> str:
        return "mlagentbench"

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> Any:
        shown = {tool_name(action) for action in self.env.actions}
        offered = tuple(
            Tool(name=tool.name, description=tool.description, parameters=tool.args_schema)
            for tool in tools
            if tool.name in shown
        )
        return self.model_copy(update={"offered": offered})

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **_: Any,
    ) -> ChatResult:
        if self.env.done:
            raise _OverError
        completion = self._complete([_ours(message) for message in messages])
        calls = completion.tool_calls[:1]
        self.hand.said = max(1, len(completion.tool_calls))
        message = AIMessage(
            content=completion.text,
            tool_calls=[{"name": call.name, "args": _arguments(call), "id": call.id} for call in calls],
            additional_kwargs={"calls": [call.model_dump() for call in calls]},
        )
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _complete(self, messages: list[Message]) -> Completion:
        """Where the conversation is too long, of less and less of its past: system, problem, and the last turns."""
        head, turns = messages[:2], _turns(messages[2:])
        while True:
            asked = [*head, *(message for turn in turns for message in turn)]
            try:
                return self.env.complete(asked, self.sampling, self.offered)  # type: ignore[no-any-return]
            except TooLongError as error:
                if not turns:
                    self.env.note(f"The prompt is too long for the model even without any past step. {error}")
                    raise _OverError from None
                turns = turns[(len(turns) + 1) // 2 :]


def _turns(messages: list[Message]) -> list[list[Message]]:
    """Each reply with the answers to its calls."""
    turns: list[list[Message]] = []
    for message in messages:
        if message.role == "assistant" or not turns:
            turns.append([])
        turns[-1].append(message)
    return turns


def _ours(message: BaseMessage) -> Message:
    text = str(message.text)
    match message:
        case SystemMessage():
            return Message(role="system", content=text)
        case ToolMessage():
            return Message(role="tool", content=text, tool_call_id=message.tool_call_id)
        case AIMessage():
            calls = tuple(
                ToolCall.model_validate(call) for call in message.additional_kwargs.get("calls", ())
            )
            return Message(role="assistant", content=text, tool_calls=calls)
        case _:
            return Message(role="user", content=text)


def _arguments(call: ToolCall) -> dict[str, Any]:
    """What is no JSON object is passed on as it is, under a name that no action has: the observation then says it."""
    try:
        read = json.loads(call.arguments or "{}")
    except ValueError:
        read = None
    return read if isinstance(read, dict) else {"not_json": call.arguments}
