"""Runs the workspace's tool once for each hidden query: `python infer.py INPUTS OUTPUTS`, in the workspace.

For each query it writes one JSON document: the query's id, whether the tool failed, and the review. A tool that fails
on every query fails.
"""

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

LONGEST = 400_000  # bytes of a review that are read


def main(inputs: Path, outputs: Path) -> None:
    asked = json.loads((inputs / "queries.json").read_text(encoding="utf-8"))
    queries = asked["queries"]
    failures = []
    for query in queries:
        review, failure = run(query["query"], asked["seconds"])
        if failure:
            failures.append(f"{query['id']}: {failure}")
        document = {"id": query["id"], "failed": bool(failure), "review": review}
        text = json.dumps(document, ensure_ascii=True)
        (outputs / f"{query['id']}.json").write_text(text + "\n", encoding="ascii")
    if len(failures) == len(queries):
        sys.exit("tool.py failed on every query. " + failures[-1])


def run(query, seconds):
    """The review, or nothing and why."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "review.md"
        command = [sys.executable, "tool.py", query, str(file)]
        errors = Path(folder) / "errors.txt"
        try:
            with errors.open("wb") as stream:
                done = subprocess.run(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=stream,
                    timeout=seconds,
                )
        except subprocess.TimeoutExpired:
            return "", f"it took more than {seconds:g} seconds"
        if done.returncode != 0:
            return "", f"it ended with status {done.returncode} and said: {last_words(errors)}"
        try:
            return read(file), ""
        except (OSError, ValueError) as error:
            return "", f"it wrote no review that could be read: {error}"


def read(file):
    if not file.is_file():
        raise ValueError(f"there is no file {file.name}")
    with file.open("rb") as stream:
        content = stream.read(LONGEST + 1)
    text = content.decode("utf-8")
    if len(content) > LONGEST or "\0" in text:
        raise ValueError(f"{file.name} has more than {LONGEST} bytes, or zero bytes in it")
    return text


def last_words(file):
    with file.open("rb") as stream:
        stream.seek(max(0, file.stat().st_size - 500))
        return stream.read(500).decode("utf-8", "replace").strip()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
