"""Runs the workspace's tool once for each hidden paragraph: `python infer.py INPUTS OUTPUTS`, in the workspace.

For each paragraph it writes one JSON document: the paragraph's id, whether the tool failed, the cited text and the
bibliography. A tool that fails on every paragraph fails.
"""

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

LONGEST = 400_000  # bytes of a file that are read


def main(inputs: Path, outputs: Path) -> None:
    asked = json.loads((inputs / "paragraphs.json").read_text(encoding="utf-8"))
    paragraphs = asked["paragraphs"]
    failures = []
    for paragraph in paragraphs:
        text, bibliography, failure = run(paragraph["text"], asked["seconds"])
        if failure:
            failures.append(f"{paragraph['id']}: {failure}")
        document = {
            "id": paragraph["id"],
            "failed": bool(failure),
            "text": text,
            "bibliography": bibliography,
        }
        written = json.dumps(document, ensure_ascii=True)
        (outputs / f"{paragraph['id']}.json").write_text(written + "\n", encoding="ascii")
    if len(failures) == len(paragraphs):
        sys.exit("tool.py failed on every paragraph. " + failures[-1])


def run(paragraph, seconds):
    """The cited text and the bibliography, or nothing and why."""
    with TemporaryDirectory() as folder:
        given, text, bibliography = (
            Path(folder) / name for name in ("paragraph.txt", "cited.txt", "references.bib")
        )
        given.write_text(paragraph, encoding="utf-8")
        command = [sys.executable, "tool.py", str(given), str(text), str(bibliography)]
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
            return "", "", f"it took more than {seconds:g} seconds"
        if done.returncode != 0:
            return "", "", f"it ended with status {done.returncode} and said: {last_words(errors)}"
        try:
            return read(text), read(bibliography), ""
        except (OSError, ValueError) as error:
            return "", "", f"it wrote no text and bibliography that could be read: {error}"


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
