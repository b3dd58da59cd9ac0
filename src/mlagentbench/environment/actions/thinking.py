"""Actions that are made of model calls: reading, editing, reflecting, and the research log."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from string import Template
from typing import TypeVar

from pydantic import Field

from mlagentbench.environment.actions.fences import NoSingleBlockError
from mlagentbench.environment.actions.registry import Arguments, action
from mlagentbench.environment.actions.replies import fenced_reply
from mlagentbench.environment.actions.syntax import syntax_error
from mlagentbench.environment.desk import Desk
from mlagentbench.environment.outcome import Outcome, refused, told
from mlagentbench.environment.workbench import Workbench
from mlagentbench.model.errors import ModelError
from mlagentbench.model.spec import Completion, Message
from mlagentbench.record.events import Edit
from mlagentbench.record.steps import Observation
from mlagentbench.workspace.text_diff import text_diff

RESEARCH_LOG = "research_log.log"
DIFFERENCE = "The difference:\n"
"""After it, the observation of an edit has what it changed."""
BLOCK = 10_000
"""Characters of a file that are described at once, as published."""
_LARGEST_FILE = 5_000_000
_PROMPTS = Path(__file__).with_name("prompts")

A = TypeVar("A", bound=Arguments)
Thinking = Callable[[Workbench, Desk, A], Outcome]


def _thinks(think: Thinking[A]) -> Callable[[Workbench, A], Outcome]:
    """An action that has a model to ask. An error of the model is an observation, and the workspace stays as it was."""

    def perform(bench: Workbench, args: A) -> Outcome:
        if bench.desk is None or not bench.desk.has("act"):
            return refused("This action needs a language model, and this run has none. Use another action.")
        try:
            return think(bench, bench.desk, args)
        except ModelError as error:
            return refused(f"The model could not do it, and nothing was changed: {error}")

    perform.__doc__ = think.__doc__
    return perform


def _prompt(name: str, **values: object) -> str:
    text = (_PROMPTS / f"{name}.txt").read_text(encoding="utf-8")
    return Template(text).substitute({key: str(value) for key, value in values.items()})


def _read_text(bench: Workbench, name: str) -> str | None:
    data = bench.workspace.read(name, _LARGEST_FILE)
    return None if b"\0" in data[:8192] else data.decode("utf-8", "replace")


class UnderstandFile(Arguments):
    file_name: str = Field(description="a text file in the workspace")
    things_to_look_for: str = Field(description="what you want to know about it, in detail")


@action("Understand File", UnderstandFile, shown=True, needs_model=True, effect="reads")
@_thinks
def understand_file(bench: Workbench, desk: Desk, args: UnderstandFile) -> Outcome:
    """Have a whole file read and described, however long it is, with a view to what you look for."""
    text = _read_text(bench, args.file_name)
    if text is None:
        return refused(f"{args.file_name} is not a text file. Look at it with code of your own.")
    blocks = [text[start : start + BLOCK] for start in range(0, len(text), BLOCK)] or [""]
    prompts = [
        _prompt(
            "understand_block",
            file_name=args.file_name,
            start=number * BLOCK + 1,
            end=number * BLOCK + len(block),
            total=len(text),
            block=block,
            things=args.things_to_look_for,
        )
        for number, block in enumerate(blocks)
    ]
    descriptions = [completion.text for completion in desk.ask_all("fast", prompts)]
    if len(descriptions) == 1:
        return told(descriptions[0])
    parts = "\n\n".join(f"Part {number}:\n{each}" for number, each in enumerate(descriptions, start=1))
    whole = _prompt(
        "understand_all",
        file_name=args.file_name,
        count=len(blocks),
        descriptions=parts,
        things=args.things_to_look_for,
    )
    return told(desk.ask("fast", whole).text)


class EditScript(Arguments):
    script_name: str = Field(description="the script to edit; one that does not exist starts empty")
    edit_instruction: str = Field(description="what to change, step by step and in detail")
    save_name: str = Field(description="where the edited script is saved; the same name replaces it")


@action("Edit Script (AI)", EditScript, shown=True, needs_model=True, effect="changes")
@_thinks
def edit_script(bench: Workbench, desk: Desk, args: EditScript) -> Outcome:
    """Have a script edited by a language model as you instruct, and see the difference that it made."""
    script = ""
    if bench.workspace.exists(args.script_name):
        content = _read_text(bench, args.script_name)
        if content is None:
            return refused(f"{args.script_name} is not a text file and cannot be edited.")
        script = content
    prompt = _prompt(
        "edit_script", script_name=args.script_name, script=script, instruction=args.edit_instruction
    )
    try:
        edited = _edited_script(bench, desk, args.save_name, script, prompt, lambda block: block)
    except NoSingleBlockError as problem:
        return _not_saved(args.save_name, problem)
    return _save(bench, args.script_name, args.save_name, script, edited)


class EditScriptSegment(Arguments):
    script_name: str = Field(description="the script to edit")
    start_line_number: int = Field(ge=1, description="the first line that may change, counted from 1")
    end_line_number: int = Field(ge=1, description="the last line that may change")
    edit_instruction: str = Field(description="what to change in these lines, step by step and in detail")
    save_name: str = Field(description="where the edited script is saved; the same name replaces it")


@action("Edit Script Segment (AI)", EditScriptSegment, needs_model=True, effect="changes")
@_thinks
def edit_script_segment(bench: Workbench, desk: Desk, args: EditScriptSegment) -> Outcome:
    """Have some lines of a long script edited by a language model as you instruct; all others stay as they are."""
    script = _read_text(bench, args.script_name)
    if script is None:
        return refused(f"{args.script_name} is not a text file and cannot be edited.")
    lines = script.splitlines(keepends=True)
    start, end = args.start_line_number, min(args.end_line_number, len(lines))
    if args.end_line_number < start:
        return refused(f"The end line {args.end_line_number} is before the start line {start}.")
    if start > max(len(lines), 1):
        return refused(f"{args.script_name} has {len(lines)} lines; line {start} is beyond its end.")
    segment = "".join(lines[start - 1 : end])
    prompt = _prompt(
        "edit_segment",
        script_name=args.script_name,
        start=start,
        end=end,
        script=segment,
        instruction=args.edit_instruction,
    )

    def whole_of(block: str) -> str:
        if end == len(lines) and segment and not segment.endswith("\n"):
            block = block.removesuffix("\n")
        return "".join([*lines[: start - 1], block, *lines[end:]])

    try:
        whole = _edited_script(bench, desk, args.save_name, script, prompt, whole_of)
    except NoSingleBlockError as problem:
        return _not_saved(args.save_name, problem)
    return _save(bench, args.script_name, args.save_name, script, whole)


def _edited_script(
    bench: Workbench, desk: Desk, name: str, before: str, prompt: str, whole_of: Callable[[str], str]
) -> str:
    """The script as the edit model wants it. One that was Python and would be none any more is asked for once more,
    from the beginning: a model that sees its broken reply copies it."""

    sampling = desk.sampling["edit"]
    if any(stop in prompt for stop in sampling.stop):
        # A script that holds the stop sequence would be cut off there.
        sampling = sampling.model_copy(update={"stop": ()})

    def ask(asked: list[Message]) -> Completion:
        return desk.complete("edit", asked, sampling)

    if remark := desk.remarks.get("edit"):
        prompt = f"{remark}\n\n{prompt}"
    _, block = fenced_reply(ask, [Message(role="user", content=prompt)])
    if error := _broken_by(bench, name, before, whole_of(block)):
        once_more = f"{prompt}\n\n{_prompt('mend_syntax', error=error)}"
        _, block = fenced_reply(ask, [Message(role="user", content=once_more)])
        if again := _broken_by(bench, name, before, whole_of(block)):
            raise NoSingleBlockError(f"the script is not valid Python ({again})")
    return whole_of(block)


def _broken_by(bench: Workbench, name: str, before: str, after: str) -> str:
    if not name.endswith(".py"):
        return ""
    error = syntax_error(bench, after)
    return error if error and not syntax_error(bench, before) else ""


def _not_saved(name: str, problem: NoSingleBlockError) -> Outcome:
    return refused(
        f"The edit was not saved, and {name} is as it was: of the edit model's reply, {problem}. "
        "Try again with a smaller edit, or describe it in more detail."
    )


def _save(bench: Workbench, name: str, save_name: str, before: str, after: str) -> Outcome:
    saved_before = ""
    if bench.workspace.exists(save_name):
        saved_before = _read_text(bench, save_name) or ""
    bench.workspace.write(save_name, after.encode())
    base = before if saved_before == "" else saved_before
    difference = "\n".join(text_diff(base, after, (name, save_name), context=2))
    text = (
        f"{save_name} is saved. {DIFFERENCE}{difference}\n"
        if difference
        else f"{save_name} is saved, unchanged."
    )
    edit = Edit(source=bench.workspace.normalise(name), saved=bench.workspace.normalise(save_name))
    return Outcome(Observation(text=text), edits=(edit,))


class Reflection(Arguments):
    things_to_reflect_on: str = Field(description="what to think about, in detail")


@action("Reflection", Reflection, needs_model=True, effect="reads")
@_thinks
def reflection(bench: Workbench, desk: Desk, args: Reflection) -> Outcome:
    """Look back over the whole research log and reflect on something."""
    prompt = _prompt("reflect", log=_log(bench), problem=bench.problem, things=args.things_to_reflect_on)
    return told(desk.ask("fast", prompt).text)


class AppendSummary(Arguments):
    content: str = Field(description="what was done and found, in at most 500 characters")


@action("Append Summary to Research Log", AppendSummary, effect="changes")
def append_summary(bench: Workbench, args: AppendSummary) -> Outcome:
    """Put a summary at the end of the research log."""
    bench.workspace.append(RESEARCH_LOG, f"{args.content}\n".encode())
    return told("The summary is in the research log.")


class Retrieval(Arguments):
    current_plan: str = Field(description="your current research plan and status")


@action("Retrieval from Research Log", Retrieval, needs_model=True, effect="reads")
@_thinks
def retrieval(bench: Workbench, desk: Desk, args: Retrieval) -> Outcome:
    """Find in the research log what matters for the current plan."""
    prompt = _prompt("retrieve", log=_log(bench), problem=bench.problem, plan=args.current_plan)
    return told(desk.ask("fast", prompt).text)


def _log(bench: Workbench) -> str:
    if not bench.workspace.exists(RESEARCH_LOG):
        return "[the log is empty]"
    return _read_text(bench, RESEARCH_LOG) or "[the log is empty]"
