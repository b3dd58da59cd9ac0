"""What a model sent, made fit to be kept: texts of a bounded length, and counts of tokens that can be right."""

from __future__ import annotations

from collections.abc import Sequence

from mlagentbench.model.errors import UnusableReplyError
from mlagentbench.model.spec import Completion, Message, Sampling, Tool, Usage
from mlagentbench.model.tokens import estimate_calls, estimate_prompt, estimate_tokens

SHORTEST_BOUND = 100_000
"""Characters that a reply may have whatever its budget is."""
_CHARACTERS_A_TOKEN = 64
"""At most, over a whole reply; a token has about four."""
_MOST_TOKENS = 100_000_000
"""A count beyond this is no count: no model reads or writes so much in one call."""


def bounded(
    completion: Completion, messages: Sequence[Message], sampling: Sampling, tools: Sequence[Tool] = ()
) -> Completion:
    """`completion` with its text cut where it is far beyond its budget, and with tokens counted here where the
    provider's count is missing or cannot be right. What was changed is in its notes."""
    most = max(SHORTEST_BOUND, _CHARACTERS_A_TOKEN * sampling.max_tokens)
    notes: list[str] = []
    update: dict[str, object] = {}
    called = sum(len(call.name) + len(call.id) + len(call.arguments) for call in completion.tool_calls)
    if called > most:
        raise UnusableReplyError(
            f"The reply of {completion.model[:200]} calls tools with {called:,} characters, far more than its "
            f"budget of {sampling.max_tokens:,} tokens allows. Use a server that keeps to the budget."
        )
    if len(completion.text) > most:
        notes.append(
            f"The text was cut: it had {len(completion.text):,} characters, and {most:,} are kept with a budget of "
            f"{sampling.max_tokens:,} tokens. The server does not keep to the budget."
        )
        update |= {"text": completion.text[:most], "stop_reason": "length"}
    usage, note = _counted(completion, messages, tools)
    if note:
        notes.append(note)
        update["usage"] = usage
    if not notes:
        return completion
    return completion.model_copy(update={**update, "notes": (*completion.notes, *notes)})


def _counted(completion: Completion, messages: Sequence[Message], tools: Sequence[Tool]) -> tuple[Usage, str]:
    """The usage, and what was wrong with the one that came."""
    usage = completion.usage
    if usage.estimated:
        return usage, ""
    asked = estimate_prompt(messages, tools)
    said = estimate_tokens(completion.text) + estimate_calls(completion.tool_calls)
    missing = (asked and not usage.input) or (said and not usage.output)
    wrong = any(not 0 <= count <= _MOST_TOKENS for count in usage.counts)
    if not missing and not wrong:
        return usage, ""
    read = usage.input if 0 < usage.input <= _MOST_TOKENS else asked
    written = usage.output if 0 < usage.output <= _MOST_TOKENS else said
    sound = Usage(
        input=read,
        output=written,
        cached=min(max(usage.cached, 0), read),
        cache_written=min(max(usage.cache_written, 0), read),
        reasoning=min(max(usage.reasoning, 0), written),
        estimated=True,
    )
    why = "cannot be right" if wrong else "is missing"
    told = ", ".join(map(str, usage.counts))[:200]
    return sound, f"The provider's count of tokens {why} ({told}); they were estimated from the text."
