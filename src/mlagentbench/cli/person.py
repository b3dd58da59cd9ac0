"""The person whose own problem is worked on: shown what the agent wants to do, asked whether it may, and heard."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator
from itertools import islice

from mlagentbench.cli.live import LiveWatch, shortened_line
from mlagentbench.cli.reading import coloured, diff_lines
from mlagentbench.cli.screen import Screen, visible, visible_line
from mlagentbench.cli.terminal import Terminal
from mlagentbench.environment.actions.registry import Effect
from mlagentbench.environment.consent import Answer, EndedByPersonError, Proposal
from mlagentbench.record import Action
from mlagentbench.record.events import ModelCalled

_FIRST_LINES = 60
_MOST_LINES = 5_000
_LONGEST_PIECE = 1_000
_THOUGHT_LINES = 25
_ALWAYS: dict[Effect, str] = {"changes": "every change", "runs": "every run"}
_PAUSED = "\nPaused. Enter: go on · s: stop here and see what it changed · q: leave · or say something to the agent > "


class PersonAtTerminal:
    """Asks at `terminal`, and shows on `screen`. With `yes`, everything is allowed; the person can still interrupt."""

    def __init__(self, terminal: Terminal, screen: Screen, *, yes: bool) -> None:
        self._terminal = terminal
        self._screen = screen
        self._allowed: set[Effect] = {"changes", "runs", "ends"} if yes else set()
        self._words: list[str] = []

    def words(self) -> str:
        said, self._words = self._words, []
        return "\n".join(said)

    def help(self, question: str) -> str:
        self._screen.line(("The agent asks:", "warn"))
        for line in islice(_pieces(question.split("\n")), _MOST_LINES):
            self._screen.line("  ", line)
        while not (answer := self._terminal.ask("Your answer > ")):
            pass
        return answer

    def consider(self, proposal: Proposal) -> Answer:
        if proposal.effect in self._allowed:
            return Answer(True)
        lines = self._present(proposal, _FIRST_LINES)
        always = f" · a: allow {what}" if (what := _ALWAYS.get(proposal.effect, "")) else ""
        more = f" · v: all {lines} lines" if lines > _FIRST_LINES else ""
        question = "Is it done?" if proposal.effect == "ends" else "Allow it?"
        prompt = f"{question} y: yes · n: no{always}{more} · q: leave · or say what to do instead > "
        while True:
            said = self._terminal.ask(prompt)
            match said.lower():
                case "y" | "yes":
                    return Answer(True)
                case "n" | "no":
                    return Answer(False, self._terminal.ask("Why not? (Enter: no reason) > "))
                case "a" | "always" if always:
                    self._allowed.add(proposal.effect)
                    return Answer(True)
                case "v" if more:
                    self._present(proposal, _MOST_LINES)
                case "q" | "quit":
                    raise KeyboardInterrupt
                case "":
                    pass
                case _:
                    return Answer(False, said)

    def paused(self) -> None:
        """Asks what to do, in the middle of whatever goes on. What is said is told to the agent with what it sees
        next."""
        match (said := self._terminal.ask(_PAUSED)).lower():
            case "" | "g" | "go on":
                self._terminal.say("Going on.")
            case "s" | "stop":
                raise EndedByPersonError
            case "q" | "quit":
                raise KeyboardInterrupt
            case _:
                self._words.append(said)
                self._terminal.say("The agent will be told.")

    def _present(self, proposal: Proposal, most: int) -> int:
        """Show what is proposed, up to `most` lines of it; how many lines there are."""
        title = {
            "changes": "The agent wants to change this:",
            "runs": "The agent wants to run this, in the copy and in the sandbox:",
            "ends": "The agent says that it is done:",
        }.get(proposal.effect, "The agent wants to do this:")
        self._screen.line((title, "warn"))
        if proposal.effect == "changes":
            lines = list(_pieces(diff_lines(proposal.store, proposal.before, proposal.after)))
        else:
            lines = list(_pieces(_told(proposal.action).split("\n")))
        for line in lines[:most]:
            self._screen.line("  ", coloured(line) if proposal.effect == "changes" else line)
        if len(lines) > most:
            self._screen.line((f"  … {len(lines) - most} more lines", "dim"))
        return len(lines)


def _pieces(lines: Iterable[str]) -> Iterator[str]:
    """The lines as they can be shown. Nothing of a long one is left out: it takes several."""
    for line in map(visible_line, lines):
        yield line[:_LONGEST_PIECE]
        for start in range(_LONGEST_PIECE, len(line), _LONGEST_PIECE):
            yield f"↪ {line[start : start + _LONGEST_PIECE]}"


def _told(action: Action) -> str:
    """An action as the person would type it."""
    match action.name, action.args:
        case "Execute Script", {"script_name": str(script), **rest}:
            arguments = rest.get("arguments", ())
            given = arguments if isinstance(arguments, str) else shlex.join(map(str, arguments or ()))
            return f"python {shlex.quote(script)} {given}".rstrip()
        case "Run Command" | "Python REPL", {"command": str(command)}:
            return command
        case "Final Answer", {"final_answer": str(answer)}:
            return answer
    return f"{action.name} {json.dumps(action.args, ensure_ascii=False)}"


class TalkativeWatch(LiveWatch):
    """Shows what the agent thinks, too."""

    def __init__(self, screen: Screen) -> None:
        super().__init__(screen)
        self._shown_on = screen

    def model(self, call: ModelCalled) -> None:
        super().model(call)
        if call.role == "act" and not call.inside and call.completion is not None:
            thought = call.completion.text.partition("\nAction:")[0]  # the step itself is shown next
            lines = visible(thought).strip().splitlines()
            for line in lines[:_THOUGHT_LINES]:
                self._shown_on.line((f"      │ {shortened_line(line)}", "dim"))
            if len(lines) > _THOUGHT_LINES:
                self._shown_on.line((f"      │ … {len(lines) - _THOUGHT_LINES} more lines", "dim"))
