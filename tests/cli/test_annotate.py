"""Correcting what is said of a run: by options, at a terminal, and in Python."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from mlagentbench import annotate
from mlagentbench.cli.annotating import Answers, ask
from mlagentbench.cli.commands.annotate import command
from mlagentbench.errors import RecordError, UsageError
from mlagentbench.evaluation.annotating import Annotated
from mlagentbench.record.annotations import MODES

EXECUTE = ("Execute Script", {"script_name": "train.py"})
LIE = "The validation MAE is 0.125, an improvement of 90 %. \x1b[31m It took 3 hours."


@pytest.fixture
def lied(scripted: Callable[..., Path]) -> Path:
    return scripted(EXECUTE, ("Final Answer", {"final_answer": LIE}))


def record_of(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in ("run.json", "events.jsonl", "grades.json")}


def test_show_tells_the_failure_mode_with_its_evidence_and_the_unsupported_claims(place, lied: Path) -> None:
    told = place("show", lied).stdout
    assert "failure hallucination: The final answer claims what nothing before it shows" in told
    assert "0 of 3 are supported" in told
    assert "0.125 was not observed; nearest is" in told and "at step 1" in told
    assert "\x1b" not in told


def test_a_correction_is_kept_beside_the_record_with_name_and_note(place, lied: Path) -> None:
    before = record_of(lied)
    place("annotate", lied, "--failure", "bad plan", "--note", "It never tried.", "--name", "Ada")
    assert record_of(lied) == before, "the record is never changed"
    kept = json.loads((lied / "annotations.json").read_text())
    (mark,) = kept["failures"]
    assert (mark["mode"], mark["ruled"], mark["name"], mark["note"]) == (
        "bad plan",
        "hallucination",
        "Ada",
        "It never tried.",
    )
    told = place("show", lied).stdout
    assert "failure bad plan (corrected by a person): Ada says so: It never tried." in told
    assert place.json("annotate", lied)["failure"]["ruled"] == "hallucination"
    place("verify", lied)


def test_the_last_word_counts_and_earlier_ones_are_kept(place, lied: Path) -> None:
    place("annotate", lied, "--failure", "limit")
    place("annotate", lied, "--failure", "hallucination")
    told = place.json("annotate", lied)
    assert told["failure"]["mode"] == "hallucination"
    assert [mark["mode"] for mark in told["annotations"]["failures"]] == ["limit", "hallucination"]
    assert told["annotations"]["failures"][1]["ruled"] == "hallucination"


def test_claims_are_marked_by_their_number(place, lied: Path) -> None:
    assert "3  – step 2, answer: It took 3 hours." in place("annotate", lied).stdout.replace("\x1b", "")
    told = place.json("annotate", lied, "--claim", "1", "supported", "--claim", "3", "supported")
    assert [claim["supported"] for claim in told["claims"]] == [True, False, True]
    assert "2 of 3 are supported by what was observed before, 2 corrected" in place("show", lied).stdout
    told = place.json("annotate", lied, "--claim", "1", "unsupported")
    assert [claim["supported"] for claim in told["claims"]] == [False, False, True]


def test_corrections_go_along_in_a_pack(place, lied: Path) -> None:
    place("annotate", lied, "--failure", "limit", "--claim", "2", "supported")
    place("pack", lied, "one.mlab.tar.gz")
    place("unpack", "one.mlab.tar.gz", "-o", "elsewhere")
    told = place.json("annotate", "last", "-o", "elsewhere")
    assert told["failure"]["mode"] == "limit" and told["claims"][1]["supported"] is True


def test_what_does_not_exist_is_refused_and_nothing_is_kept(place, lied: Path) -> None:
    assert "no claim 9" in place("annotate", lied, "--claim", "9", "supported", status=2).stderr
    place("annotate", lied, "--failure", "laziness", status=2)
    with pytest.raises(UsageError, match="no failure mode 'laziness'"):
        annotate(lied, failure="laziness")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="at most"):
        annotate(lied, failure="limit", note="x" * 10_000)
    assert not (lied / "annotations.json").exists()


def test_a_damaged_file_is_told_and_not_written_over(place, lied: Path) -> None:
    (lied / "annotations.json").write_text("{")
    with pytest.raises(RecordError, match="is damaged"):
        annotate(lied, failure="limit")
    assert (lied / "annotations.json").read_text() == "{"


def test_the_command_offers_every_mode() -> None:
    (option,) = (each for each in command.params if each.name == "failure")
    assert isinstance(option.type, click.Choice) and tuple(option.type.choices) == MODES


def asked(said: Annotated, typed: str) -> tuple[Answers, str]:
    """What comes of a person's typing."""
    answers: Answers = {}

    @click.command()
    def at_a_terminal() -> None:
        answers.update(ask(said))

    result = CliRunner().invoke(at_a_terminal, input=typed, catch_exceptions=False)
    return answers, result.output


def test_a_person_at_a_terminal_is_asked_until_the_answer_can_be_used(lied: Path) -> None:
    said = annotate(lied)
    answers, shown = asked(said, "laziness\nbad plan\n1, 77\n1 3\nI looked.\n")
    assert answers == {"failure": "bad plan", "claims": {1: True, 3: True}, "note": "I looked."}
    assert "There is no failure mode" in shown and "numbers from 1 to 3" in shown
    assert asked(said, "\n\n")[0] == {}, "nothing typed changes nothing"
