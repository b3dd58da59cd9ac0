"""A key is in nothing that a run leaves: neither in its files, nor in what the commands print, nor in the sandbox."""

from __future__ import annotations

import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from model.servers import WIRES, Behaviour, Handler, Wire, answer, fail, serving
from support.providers import cache_with_shared_data, decision

from mlagentbench.record.events import ModelCalled, StepTaken
from mlagentbench.record.folder import RunFolder
from mlagentbench.record.packing import objects_of

CANARY = "sk-canary-4e8b1d7a90c36f52"

CURIOUS = """
import os, pathlib
print("environment", dict(os.environ))
places = [{env_file!r}, ".env", *(f"{{'../' * up}}.env" for up in range(1, 8))]
places += [f"/proc/{{pid}}/{{what}}" for pid in os.listdir("/proc") if pid.isdigit() for what in ("environ", "cmdline")]
for place in places:
    try:
        print(place, pathlib.Path(place).read_bytes())
    except OSError as error:
        print(place, type(error).__name__)
"""


def echoing(behave: Callable[[str], Behaviour]) -> Behaviour:
    """What a server does that says the key which it was sent."""

    def echo(handler: Handler) -> None:
        headers = handler.headers
        bearer = headers.get("Authorization", "").removeprefix("Bearer ")
        behave(bearer or headers.get("x-api-key") or headers.get("x-goog-api-key") or "")(handler)

    return echo


@pytest.mark.parametrize(
    ("wire", "source"),
    [*((wire, "environment") for wire in WIRES), (WIRES[0], ".env")],
    ids=lambda value: value if isinstance(value, str) else value.provider,
)
def test_a_key_that_a_server_echoes_is_in_nothing_that_is_left(place, tmp_path, wire: Wire, source: str):
    for other in WIRES:
        place.environment.pop(other.key_variable, None)
    env_file = place.folder / ".env"
    if source == ".env":
        env_file.write_text(f"{wire.key_variable}={CANARY}\n")
    else:
        place.environment[wire.key_variable] = CANARY
    cache = cache_with_shared_data(Path(place.environment["MLAGENTBENCH_CACHE"]), tmp_path / "cache")
    place.environment["MLAGENTBENCH_CACHE"] = str(cache)
    curious = decision("Write File", file_name="curious.py", content=CURIOUS.format(env_file=str(env_file)))
    said = []
    with serving(wire) as server:
        server.does(
            echoing(lambda key: fail(500, f"No worker for the key {key}.")),
            answer(curious),
            answer(decision("Execute Script", script_name="curious.py")),
            echoing(lambda key: answer(decision("Write File", file_name="key.txt", content=f"It is {key}."))),
            answer(decision("Execute Script", script_name="train.py")),
            echoing(lambda key: fail(401, f"The key {key} has been withdrawn.")),
            answer(decision("Final Answer", final_answer="Done.")),
        )
        model = ("-m", wire.model, "--base-url", server.url, "--model-patience", "1s", "--model-cache")
        said.append(place("run", place.task, "-a", "react", *model, status=1))
        said.append(place("resume", "last"))
    assert CANARY in str(server.asked[0].headers), "the canary is the key that is sent"

    (found,) = (place.folder / "runs").glob("*/*/*/*/run.json")
    said += [place("show", found.parent), place("show", found.parent, "--json")]
    place("pack", found.parent)
    folder = RunFolder.open(found.parent)
    events = folder.history().events
    steps = [event for event in events if isinstance(event, StepTaken)]
    calls = [event for event in events if isinstance(event, ModelCalled)]
    assert [step.action.name for step in steps][-1] == "Final Answer"
    assert "environment" in steps[1].observation.text and "PATH" in steps[1].observation.text
    assert "No worker for the key [key removed]" in calls[0].completion.retries[0]
    assert "It is [key removed]." in calls[2].completion.text and calls[2].completion.notes
    assert "The key [key removed] has been withdrawn" in calls[4].error

    left = {str(file): file.read_bytes() for top in ("runs", "cache") for file in files_below(tmp_path / top)}
    left |= {f"object {name}": folder.store().get(name) for name in objects_of(folder)}
    (packed,) = place.folder.glob("*.tar.gz")
    with tarfile.open(packed) as archive:
        left |= {f"packed {entry.name}": archive.extractfile(entry).read() for entry in archive}
    assert any("completions" in name for name in left) and any("packed" in name for name in left)
    left |= {f"printed by {done.args}": (done.stdout + done.stderr).encode() for done in said}
    assert [name for name, content in left.items() if CANARY.encode() in content] == []


def files_below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]
