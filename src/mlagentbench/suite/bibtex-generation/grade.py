"""Mean score of the paragraphs that a tool cited, by the rules of the starter's scoring.py."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

from mlagentbench.errors import SubmissionRefusedError

SCORING = runpy.run_path(str(Path(__file__).parent / "starter" / "scoring.py"))
LARGEST_OUTPUT = 8_000_000
"""Bytes of a document: the longest two files that infer.py keeps, each character of them escaped."""


def grade(submission: Path, private: Path) -> dict[str, Any]:
    answers = json.loads((private / "answers.json").read_text(encoding="utf-8"))
    expected = {f"{paragraph['id']}.json": paragraph for paragraph in answers["paragraphs"]}
    found = {file.name for file in submission.iterdir()}
    if missing := sorted(expected.keys() - found):
        raise SubmissionRefusedError(
            f"There is no output {missing[0]}; there must be one for every paragraph."
        )
    if extra := sorted(found - expected.keys()):
        raise SubmissionRefusedError(
            f"There is an output {extra[0][:40]!r} that nothing asked for; leave it out."
        )
    outputs = {name: read(submission / name, paragraph["id"]) for name, paragraph in expected.items()}
    if all(output is None for output in outputs.values()):
        raise SubmissionRefusedError("The tool failed on every paragraph, so there is nothing to score.")

    scores, notes = [], []
    failed = changed = invalid = 0
    for name, paragraph in expected.items():
        text, bibliography = outputs[name] or ("", "")
        scores.append(SCORING["score_paragraph"](text, bibliography, paragraph, answers))
        failed += outputs[name] is None
        if outputs[name] is not None and len(text) <= SCORING["LONGEST_TEXT"]:
            changed += SCORING["without_citations"](text) != paragraph["text"].rstrip("\n")
        if outputs[name] is not None and not valid(bibliography):
            invalid += 1
    if failed:
        notes.append(f"The tool failed on {failed} of {len(scores)} paragraphs.")
    if changed:
        notes.append(f"The text of {changed} of {len(scores)} paragraphs was changed, not only cited.")
    if invalid:
        notes.append(f"{invalid} of {len(scores)} bibliographies are not valid BibTeX.")
    return {"score": sum(scores) / len(scores), "notes": notes}


def valid(bibliography: str) -> bool:
    if len(bibliography) > SCORING["LONGEST_BIBLIOGRAPHY"]:
        return False
    try:
        SCORING["entries_of"](bibliography)
    except SCORING["BibtexError"]:
        return False
    return True


def read(path: Path, paragraph: str) -> tuple[str, str] | None:
    """The texts in a document that infer.py wrote; None where the tool failed. Any other file is refused."""
    if not path.is_file():
        raise SubmissionRefusedError(f"{path.name} is not a file.")
    with path.open("rb") as file:
        content = file.read(LARGEST_OUTPUT + 1)
    if len(content) > LARGEST_OUTPUT:
        raise SubmissionRefusedError(f"{path.name} has more than {LARGEST_OUTPUT} bytes.")
    try:
        document = json.loads(content.decode("ascii"))
    except (ValueError, RecursionError) as error:
        raise SubmissionRefusedError(f"{path.name} is not a JSON document: {str(error)[:80]}.") from None
    if not isinstance(document, dict) or document.keys() != {"id", "failed", "text", "bibliography"}:
        raise SubmissionRefusedError(
            f"{path.name} must hold the fields id, failed, text and bibliography, and no others."
        )
    if document["id"] != paragraph:
        raise SubmissionRefusedError(f"{path.name} is not about {paragraph}.")
    texts = document["text"], document["bibliography"]
    if not isinstance(document["failed"], bool) or not all(isinstance(text, str) for text in texts):
        raise SubmissionRefusedError(
            f"{path.name}: failed must be true or false, text and bibliography texts."
        )
    return None if document["failed"] else texts
