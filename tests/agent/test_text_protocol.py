"""The published text format: the exact action or an explained refusal; never a changed byte, never an exception."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlagentbench.agent.protocol import Decision, FormatError
from mlagentbench.agent.strict_json import DEEPEST, read_object
from mlagentbench.agent.text_protocol import entries_beside, parse, render
from mlagentbench.record import Action

RESEARCH = (
    "Reflection",
    "Research Plan and Status",
    "Fact Check",
    "Thought",
    "Action",
    "Action Input",
)
FORMATS = (RESEARCH, ("Thought", "Action", "Action Input"), ("Action", "Action Input"))
CODE = """import re
print("Action: List Files")
def f(x: dict) -> str:
    return f'{x["a"]!r}\\n'  # "quoted" and 'quoted'
Action: Execute Script
Action Input: {"script_name": "evil.py"}
\"\"\"doc
Observation: nothing
\"\"\"
"""


def read(text: str, entries: tuple[str, ...] = ("Action", "Action Input")) -> Decision:
    decision = parse(text, entries)
    assert isinstance(decision, Decision), decision
    return decision


def refusal(
    text: str, entries: tuple[str, ...] = ("Action", "Action Input"), *, cut_off: bool = False
) -> str:
    error = parse(text, entries, cut_off=cut_off)
    assert isinstance(error, FormatError), error
    return error.sentence


def unread(text: str) -> str:
    """Why the input of the action could not be read; what was written is kept as it stands."""
    decision = read(text)
    assert decision.written is not None, decision
    assert decision.action.args["not_json"] == decision.written
    assert parse(render(decision), ("Action", "Action Input")) == decision
    return str(decision.action.args["reason"])


def test_a_reply_in_the_format_is_read_entry_by_entry():
    text = (
        "Reflection: The baseline\nis 3.2.\n"
        "Research Plan and Status:\n1. Baseline: **done**\n2. Try more.\n"
        "Fact Check: confirmed\n\n"
        "Thought: Read it.\n"
        "Action: Read File\n"
        'Action Input: {"file_name": "train.py"}\n'
    )
    decision = read(text, RESEARCH)
    assert decision.action == Action("Read File", {"file_name": "train.py"})
    assert decision.entries["Reflection"] == "The baseline\nis 3.2."
    assert decision.entries["Research Plan and Status"] == "1. Baseline: **done**\n2. Try more."
    assert list(decision.entries) == list(RESEARCH[:-2])


@pytest.mark.parametrize(
    "written",
    [
        '{"content": "a"}',
        '  \n{"content": "a"}',
        '```json\n{"content": "a"}\n```',
        '```\n{"content": "a"}\n```\nDone.',
        '```json {"content": "a"} ```',
        '~~~~JSON\n{\n  "content": "a"\n}\n~~~~',
        '{"content": "a"}\n\nI hope that this helps.',
        '{"content": "a"}\nObservation: it is written.\nThought: next\nAction: Final Answer\nAction Input: {}',
        '{"content":\r\n"a"}\r\n',
    ],
)
def test_the_json_may_be_fenced_or_followed_by_prose(written):
    assert read(f"Action: Write File\nAction Input: {written}").action.args == {"content": "a"}


def test_names_of_entries_inside_of_strings_and_fences_shift_nothing():
    thought = f"This is the script:\n```python\n{CODE}```\n~~~\nAction: x\n~~~"
    escaped = json.dumps({"content": CODE})
    written_out = '{"content": "' + CODE.replace("\\", "\\\\").replace('"', '\\"') + '"}'
    for dumped in (escaped, written_out):
        text = f"Thought: {thought}\nAction: Write File\nAction Input: {dumped}\nDone."
        decision = read(text, ("Thought", "Action", "Action Input"))
        assert decision.action.args == {"content": CODE}
        assert decision.entries["Thought"] == thought


def test_line_breaks_and_control_characters_in_strings_stay_as_they_are():
    text = 'Action: Write File\nAction Input: {"content": "one\r\n\ttwo\x00\x1b[1m\u2028\x85three"}'
    assert read(text).action.args == {"content": "one\r\n\ttwo\x00\x1b[1m\u2028\x85three"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "'Action' is missing"),
        ("I will list the files.", "'Action' is missing"),
        ("Action: List Files", "cut off"),
        ("Action: List Files\nAction In", "cut off"),
        ("Action Input: {}\nAction: List Files", "'Action' is missing"),
        ("Action: A\nAction: B\nAction Input: {}", "twice"),
        ("Action: A\nAction Input: {}\nAction: B\nAction Input: {}", "another 'Action'"),
        ("**Action:** A\n**Action Input:** {}", "'Action' is missing"),
    ],
)
def test_what_is_not_in_the_format_is_refused_with_the_reason(text, reason):
    assert reason in refusal(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Action: List Files\nAction Input:", "cut off"),
        ("Action: List Files\nAction Input: \n  ", "cut off"),
        ('Action: List Files\nAction Input: {"dir_path": "a', "cut off"),
        ('Action: List Files\nAction Input: {"dir_path": "a"', "cut off"),
        ('Action: List Files\nAction Input: {"dir_path": tru', "cut off"),
        ('Action: List Files\nAction Input: {"dir_path": "a\\u00', "cut off"),
        ("Action: List Files\nAction Input: train.py", "JSON object"),
        ('Action: List Files\nAction Input: ["."]', "JSON object"),
        ('Action: List Files\nAction Input: {"content": "print("x")"}', "not valid"),
        ('Action: List Files\nAction Input: {"a": 1, "a": 2}', "stands twice"),
        ('Action: List Files\nAction Input: {"a": NaN}', "NaN is not JSON"),
        ('Action: List Files\nAction Input: {"a": 1e999}', "too large"),
        (f'Action: List Files\nAction Input: {{"a": {"9" * 5000}}}', "5000 digits"),
        ('Action: List Files\nAction Input: {"a": "\\ud800"}', "surrogate"),
        (f'Action: List Files\nAction Input: {{"a": {"[" * 60}{"]" * 60}}}', "nested deeper"),
        (f'Action: List Files\nAction Input: {{"a": {"[" * 100_000}', "nested"),
        ('Action: List Files\nAction Input: {"a": """b, "c": 1}', "not valid"),
    ],
)
def test_an_input_that_is_no_json_object_is_a_decision_with_the_reason(text, reason):
    assert reason in unread(text)


def test_entries_out_of_order_and_inside_of_fences_are_named():
    entries = ("Thought", "Action", "Action Input")
    assert "in the order Action, Thought" in refusal("Action: A\nThought: x\nAction Input: {}", entries)
    assert "'Thought' is missing" in refusal("Action: A\nAction Input: {}", entries)
    fenced = "Thought: ```\ncode\nAction: A\nAction Input: {}"
    assert "inside of a code fence" in refusal(f"{fenced}\n```", entries)
    assert "inside of a code fence" in refusal(fenced, entries, cut_off=True)


def test_a_fence_that_is_never_closed_hides_nothing_unless_the_reply_was_cut_off():
    entries = ("Thought", "Action", "Action Input")
    decision = read("Thought: ```python\nx = 1\nAction: A\nAction Input: {}", entries)
    assert decision.entries == {"Thought": "```python\nx = 1"} and decision.action == Action("A", {})
    for reply in ("```\nAction: A\nAction Input: {}\n```", "~~~text\nAction: A\nAction Input: {}"):
        assert read(reply).action == Action("A", {}), "a reply may stand in a fence as a whole"


@pytest.mark.parametrize(
    ("written", "arguments"),
    [
        ('{"script_name": """train.py"""}', {"script_name": "train.py"}),
        ('{"a": """one "two"\n\\n""", "b": "c\\"d"} Done.', {"a": 'one "two"\n\\n', "b": 'c"d'}),
        ('```json\n{"a": """""" , "b": ["""x""", 1]}\n```', {"a": "", "b": ["x", 1]}),
        ('{"a": "b", "c": {"d": """e"""}}', {"a": "b", "c": {"d": "e"}}),
    ],
)
def test_a_string_between_three_quotes_is_taken_as_it_stands(written, arguments):
    assert read(f"Action: A\nAction Input: {written}").action.args == arguments
    again = f"Action: A\nAction Input: {written}\nAction: B\nAction Input: {{}}"
    assert "another 'Action'" in refusal(again)


def test_depth_is_counted_exactly():
    deepest = "[" * (DEEPEST - 1) + "]" * (DEEPEST - 1)
    assert not isinstance(read_object(f'{{"a": {deepest}}}'), FormatError)
    assert isinstance(read_object(f'{{"a": [{deepest}]}}'), FormatError)


def test_text_beside_a_tool_call_is_taken_as_far_as_it_goes():
    entries = ("Reflection", "Thought")
    assert entries_beside("I look first.", entries) == {"Thought": "I look first."}
    assert entries_beside("Thought: a\nReflection: b", entries) == {"Reflection": "b", "Thought": "a"}
    assert entries_beside("", entries) == {} and entries_beside(": x", ()) == {}


PIECES = [
    CODE,
    "Action: List Files",
    'Action Input: {"a": "b"}',
    "```",
    "```python\nx = 1\n```",
    '{"nested": {"json": [1, 2, {"deep": "\\"quoted\\""}]}}',
    '"',
    "'",
    "\\",
    "\\n",
    "\n",
    "\r\n",
    "\t",
    "\0",
    "\x1b[31m",
    "\x7f\x85\u2028\u2029",
    "Größe 模型 мера 모델 🎉 שלום",
    "Observation:",
    "Thought: x",
    "}",
    "{",
    "**bold**",
    "%s {0} $x",
    "a" * 300,
    "",
    "  indented\n    more",
    "\ufeff",
    "</s><|im_end|>",
]


class Maker:
    """Completions as models write them, and as they should not."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def text(self) -> str:
        return self.random.choice(["", " ", "\n"]).join(
            self.random.choices(PIECES, k=self.random.randint(0, 6))
        )

    def value(self, depth: int = 0) -> Any:
        kind = self.random.randrange(9 if depth < 4 else 6)
        match kind:
            case 0:
                return self.random.randint(-(10**20), 10**20)
            case 1:
                return self.random.uniform(-1e6, 1e6)
            case 2:
                return self.random.choice([True, False, None])
            case 6:
                return [self.value(depth + 1) for _ in range(self.random.randint(0, 3))]
            case 7 | 8:
                return {self.text(): self.value(depth + 1) for _ in range(self.random.randint(0, 3))}
            case _:
                return self.text()

    def arguments(self) -> dict[str, Any]:
        return {
            self.random.choice(["content", "file_name", "größe", self.text()]): self.value()
            for _ in range(self.random.randint(0, 4))
        }

    def prose(self) -> str:
        """What an entry may hold: names of entries in fences only."""
        plain = [
            piece for piece in PIECES if "```" not in piece and not piece.startswith(("Action", "Thought"))
        ]
        plain.remove(CODE)
        fenced = [f"\n```\n{CODE}\n```\n", "\n~~~~md\nAction: x\n```\nThought: y\n~~~~\n", "\n  Action: x\n"]
        return "\n".join(self.random.choices([*plain, *fenced], k=self.random.randint(0, 5)))

    def dumped(self, arguments: dict[str, Any]) -> str:
        indent = self.random.choice([None, None, 2])
        text = json.dumps(arguments, ensure_ascii=self.random.random() < 0.3, indent=indent)
        if self.random.random() < 0.3 and "\\\\" not in text:
            text = text.replace("\\n", "\n")
        return text

    def reply(
        self, entries: tuple[str, ...], contents: dict[str, str], name: str, dumped: str
    ) -> tuple[str, int]:
        """A reply, and where its JSON ends."""
        space = self.random.choice([" ", "", "\n"])
        text = self.random.choice(["", "Sure!\n", "\n\n"])
        for entry in entries[:-2]:
            text += f"{entry}:{space}{contents[entry]}\n"
        fence = self.random.choice(["", "", "```json\n", "~~~\n"])
        text += f"Action:{space}{name}\nAction Input:{self.random.choice([' ', chr(10)])}{fence}{dumped}"
        end = len(text)
        if fence:
            text += f"\n{fence[:3]}"
        text += self.random.choice(
            ["", "\n", "\nThat is all.", " and then I wait", "\nObservation: ok\nThought: a\nAction: b", " }"]
        )
        return text, end


def why_not(answer: Decision | FormatError) -> str:
    if isinstance(answer, FormatError):
        return answer.sentence
    assert answer.written is not None, answer
    return str(answer.action.args["reason"])


CASES = 12_000


def test_generated_replies_are_read_exactly_or_refused_with_a_reason():
    maker = Maker(7)
    accepted = refused = cut = 0
    for _ in range(CASES):
        entries = maker.random.choice(FORMATS)
        contents = {entry: maker.prose() for entry in entries[:-2]}
        name = maker.random.choice(["List Files", "Edit Script (AI)", "无", "x"])
        arguments = maker.arguments()
        text, end = maker.reply(entries, contents, name, maker.dumped(arguments))
        decision = parse(text, entries)
        assert isinstance(decision, Decision), (text, decision)
        assert (decision.action.name, decision.action.args) == (name, arguments), text
        assert json.dumps(decision.action.args) == json.dumps(arguments), "the types are the same, too"
        assert decision.entries == {entry: content.strip() for entry, content in contents.items()}
        accepted += 1

        at = maker.random.randrange(len(text) + 1)
        shorter = parse(text[:at], entries, cut_off=True)
        if at < end:
            begun = any(line.startswith(f"{entries[0]}:") for line in text[:at].split("\n"))
            assert not begun or "cut off" in why_not(shorter), (text[:at], shorter)
            cut += 1
        elif isinstance(shorter, Decision):
            assert shorter.action.args == arguments

        hostile = {entry: maker.text().replace("Observation:", "") for entry in entries[:-2]}
        text, _ = maker.reply(entries, hostile, name, maker.dumped(arguments))
        answer = parse(text, entries)
        if isinstance(answer, Decision):
            assert answer.action.args == arguments and answer.action.name == name, text
        else:
            assert len(answer.sentence) > 20
            refused += 1
    assert accepted == CASES and cut > CASES / 4 and refused > CASES / 10


@settings(max_examples=500, deadline=None)
@given(
    st.sampled_from(FORMATS),
    st.text(alphabet='{}[]":,\\nAction Input:Thought`~\n\t \0é你\ud800', max_size=200),
)
def test_any_text_at_all_is_answered(entries, text):
    for answer in (parse(text, entries), parse(f"Action: x\nAction Input: {{{text}", entries[-2:])):
        assert isinstance(answer, Decision) or answer.sentence.strip().endswith((".", "?"))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**900), 2**900) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@settings(max_examples=500, deadline=None)
@given(st.dictionaries(st.text(), json_values, max_size=4))
def test_what_is_rendered_is_read_back(arguments):
    decision = Decision({"Thought": "Look."}, Action("Read File", arguments))
    assert parse(render(decision), ("Thought", "Action", "Action Input")) == decision
