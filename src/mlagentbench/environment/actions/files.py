"""Looking at files and changing them. Nothing of the agent's runs here."""

from __future__ import annotations

import codecs
import re
from typing import BinaryIO

from pydantic import Field

from mlagentbench.environment.actions.registry import Arguments, action
from mlagentbench.environment.outcome import Outcome, PastEdit, refused, told
from mlagentbench.environment.workbench import Workbench
from mlagentbench.record.events import Edit
from mlagentbench.record.steps import Observation
from mlagentbench.units import format_size
from mlagentbench.workspace import Entry, Workspace, find

LARGEST_READ = 200_000
"""Bytes of a file that one observation can show."""
LARGEST_FILE = 100_000_000
"""Bytes of a file that is looked at at all."""
MOST_LISTED = 1_000
_PIECE = 2**20
_LINE_ENDS = re.compile(r"\r\n|\r|\n")
"""As Python counts the lines of a script; `str.splitlines` also splits at form feeds and the like."""
MOST_INSPECTED = 100
"""Lines that Inspect Script Lines shows at once, as published."""


class ListFiles(Arguments):
    dir_path: str = Field(".", description="a folder in the workspace, such as . or data")


@action("List Files", ListFiles, shown=True, effect="reads")
def list_files(bench: Workbench, args: ListFiles) -> Outcome:
    """List what is in a folder of the workspace, with sizes; read-only entries are marked."""
    entries = bench.workspace.list(args.dir_path)
    if not entries:
        return told("[the folder is empty]")
    lines = [_line(entry) for entry in entries[:MOST_LISTED]]
    if len(entries) > MOST_LISTED:
        lines.append(f"[… and {len(entries) - MOST_LISTED:,} more]")
    return told("\n".join(lines))


def _line(entry: Entry) -> str:
    name = printable(entry.path.rsplit("/", 1)[-1])
    match entry.kind:
        case "folder":
            text = f"{name}/"
        case "file":
            text = f"{name}  {format_size(entry.size)}"
        case "link":
            text = f"{name} -> {printable(entry.target)}"
        case _:
            text = f"{name}  [{entry.kind}]"
    return f"{text}  [read-only]" if entry.read_only else text


def printable(text: str) -> str:
    """`text` in valid Unicode on one line, whatever bytes a file name was made of."""
    if text.isprintable():
        return text
    decoded = text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in decoded)


class ReadFile(Arguments):
    file_name: str = Field(description="a file in the workspace")


@action("Read File", ReadFile, effect="reads")
def read_file(bench: Workbench, args: ReadFile) -> Outcome:
    """Read a whole text file. For long scripts, Inspect Script Lines shows a part of it."""
    with bench.workspace.open(args.file_name, LARGEST_FILE) as file:
        data = file.read(LARGEST_READ + 1)
    text = _text(data[:LARGEST_READ])
    if text is None:
        return refused(f"{args.file_name} is not a text file. Read it with code of your own.")
    if len(data) > LARGEST_READ:
        text += f"\n[… cut after {LARGEST_READ:,} bytes of {len(data):,}]"
    return told(text)


def _text(data: bytes) -> str | None:
    if b"\0" in data[:8192]:
        return None
    return data.decode("utf-8", "replace")


class WriteFile(Arguments):
    file_name: str = Field(description="the file to write, in the workspace; folders on the way are made")
    content: str = Field(description="all of its new content")


@action("Write File", WriteFile, effect="changes")
def write_file(bench: Workbench, args: WriteFile) -> Outcome:
    """Write a file; what it held before is replaced."""
    bench.workspace.write(args.file_name, args.content.encode())
    return _edited(bench, args.file_name, f"{args.file_name} is written.")


class AppendFile(Arguments):
    file_name: str = Field(description="a file in the workspace; it is made if it does not exist")
    content: str = Field(description="what is put at its end")


@action("Append File", AppendFile, effect="changes")
def append_file(bench: Workbench, args: AppendFile) -> Outcome:
    """Put text at the end of a file."""
    bench.workspace.append(args.file_name, args.content.encode())
    return _edited(bench, args.file_name, f"The text is at the end of {args.file_name}.")


class CopyFile(Arguments):
    source: str = Field(description="a file or folder in the workspace")
    destination: str = Field(description="where the copy goes, in the workspace")


@action("Copy File", CopyFile, shown=True, effect="changes")
def copy_file(bench: Workbench, args: CopyFile) -> Outcome:
    """Copy a file or a folder to another place in the workspace."""
    bench.workspace.copy(args.source, args.destination)
    return _edited(bench, args.destination, f"{args.source} is copied to {args.destination}.")


class InspectScriptLines(Arguments):
    script_name: str = Field(description="a text file in the workspace")
    start_line_number: int = Field(ge=1, description="the first line to show, counted from 1")
    end_line_number: int = Field(
        ge=1, description=f"the last line to show; at most {MOST_INSPECTED} lines at once"
    )


@action("Inspect Script Lines", InspectScriptLines, shown=True, effect="reads")
def inspect_script_lines(bench: Workbench, args: InspectScriptLines) -> Outcome:
    """Show some lines of a script, for a precise look at one part of it."""
    if args.end_line_number < args.start_line_number:
        return refused(
            f"The end line {args.end_line_number} is before the start line {args.start_line_number}."
        )
    if args.end_line_number - args.start_line_number + 1 > MOST_INSPECTED:
        return refused(f"At most {MOST_INSPECTED} lines can be shown at once. Ask for fewer.")
    with bench.workspace.open(args.script_name, LARGEST_FILE) as file:
        found = _lines(file, args.start_line_number, args.end_line_number)
    if found is None:
        return refused(f"{args.script_name} is not a text file. Read it with code of your own.")
    lines, count = found
    if args.start_line_number > count:
        return refused(
            f"{args.script_name} has {count} lines; line {args.start_line_number} is beyond its end."
        )
    end = min(args.end_line_number, count)
    shown = "\n".join(lines)
    return told(f"{args.script_name}, lines {args.start_line_number} to {end} of {count}:\n{shown}")


def _lines(file: BinaryIO, first: int, last: int) -> tuple[list[str], int] | None:
    """Lines of a text by number, each cut where it is too long to be shown, and how many there are; None where it is no
    text. It is read in pieces, so that its size costs no memory."""
    kept: list[str] = []
    number, line, unfinished = 1, "", False
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    begun, returned = False, False
    while piece := file.read(_PIECE):
        if not begun and b"\0" in piece[:8192]:
            return None
        begun = True
        text = decode(piece)
        if returned and text.startswith("\n"):
            text = text[1:]
        returned = text.endswith("\r")
        *whole, rest = _LINE_ENDS.split(text)
        for each in whole:
            if first <= number <= last:
                kept.append((line + each)[:LARGEST_READ])
            line, number = "", number + 1
        if first <= number <= last and len(line) < LARGEST_READ:
            line += rest
        unfinished = bool(rest) or (unfinished and not whole)
    if unfinished and first <= number <= last:
        kept.append(line[:LARGEST_READ])
    return kept, number if unfinished else number - 1


class UndoEditScript(Arguments):
    script_name: str = Field(description="the script whose last edit is to be undone")


@action("Undo Edit Script", UndoEditScript, shown=True, effect="changes")
def undo_edit_script(bench: Workbench, args: UndoEditScript) -> Outcome:
    """Set a script back to what it was before its last edit. It can be done again for the edit before that."""
    name = bench.workspace.normalise(args.script_name)
    for past in reversed(bench.past_edits):
        if name in (past.edit.saved, past.edit.source):
            _set_back(bench.workspace, past)
            text = f"{past.edit.saved} is as it was before its last edit."
            return Outcome(Observation(text=text), undone=past.edit.saved)
    return refused(f"There is no edit of {args.script_name} to undo.")


def _set_back(workspace: Workspace, past: PastEdit) -> None:
    before = find(workspace.store, past.before, past.edit.saved)
    if before is not None and before.kind == "file":
        workspace.write_object(past.edit.saved, before.hash)
    elif workspace.exists(past.edit.saved):
        workspace.remove(past.edit.saved)


def _edited(bench: Workbench, name: str, text: str) -> Outcome:
    path = bench.workspace.normalise(name)
    edit = Edit(source=path, saved=path)
    return Outcome(Observation(text=text), edits=(edit,))
