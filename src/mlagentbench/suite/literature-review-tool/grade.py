"""Mean score of the reviews that a tool wrote for the hidden queries, by the rules of the starter's scoring.py."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

from mlagentbench.errors import SubmissionRefusedError

SCORING = runpy.run_path(str(Path(__file__).parent / "starter" / "scoring.py"))
LARGEST_OUTPUT = 4_000_000
"""Bytes of a document: the longest review that infer.py keeps, each character of it escaped."""
INVENTED = 0.05
"""Share of listed papers that may not exist before success is withheld."""


def grade(submission: Path, private: Path) -> dict[str, Any]:
    answers = json.loads((private / "answers.json").read_text(encoding="utf-8"))
    expected = {f"{query['id']}.json": query for query in answers["queries"]}
    found = {file.name for file in submission.iterdir()}
    if missing := sorted(expected.keys() - found):
        raise SubmissionRefusedError(f"There is no output {missing[0]}; there must be one for every query.")
    if extra := sorted(found - expected.keys()):
        raise SubmissionRefusedError(
            f"There is an output {extra[0][:40]!r} that nothing asked for; leave it out."
        )
    reviews = {name: read(submission / name, query["id"]) for name, query in expected.items()}
    if all(review is None for review in reviews.values()):
        raise SubmissionRefusedError("The tool failed on every query, so there is nothing to score.")

    scores = []
    listed = invented = 0
    for name, query in expected.items():
        review = reviews[name] or ""
        scores.append(SCORING["score_review"](review, query, answers))
        if len(review) <= SCORING["LONGEST_REVIEW"]:
            entries = SCORING["entries_of"](SCORING["sections_of"](review))
            listed += len(entries)
            invented += sum(not SCORING["exists"](entry, answers) for entry in entries)
    verdict: dict[str, Any] = {"score": sum(scores) / len(scores), "notes": []}
    failed = sum(review is None for review in reviews.values())
    if failed:
        verdict["notes"].append(f"The tool failed on {failed} of {len(reviews)} queries.")
    if invented > INVENTED * listed:
        verdict["withheld"] = (
            f"{invented} of the {listed} papers that the reviews list do not exist under that id and title, "
            f"more than {INVENTED:.0%}."
        )
    return verdict


def read(path: Path, query: str) -> str | None:
    """The review in a document that infer.py wrote; None where the tool failed. Any other file is refused."""
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
    if not isinstance(document, dict) or document.keys() != {"id", "failed", "review"}:
        raise SubmissionRefusedError(
            f"{path.name} must hold the fields id, failed and review, and no others."
        )
    if document["id"] != query:
        raise SubmissionRefusedError(f"{path.name} is not about {query}.")
    if not isinstance(document["failed"], bool) or not isinstance(document["review"], str):
        raise SubmissionRefusedError(f"{path.name}: failed must be true or false, and review a text.")
    return None if document["failed"] else document["review"]
