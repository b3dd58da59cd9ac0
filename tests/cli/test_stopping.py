"""Ctrl-C and SIGTERM leave a run that can be resumed, and say how."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = str(Path(sys.executable).with_name("mlagentbench"))

SLOW = "import pathlib, time\nprint('begun', flush=True)\ntime.sleep(0 if pathlib.Path('fast').exists() else 120)\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_run_says_how_to_go_on_and_goes_on(place, number):
    actions = [
        ("Execute Script", {"script_name": "train.py"}),
        ("Write File", {"file_name": "slow.py", "content": SLOW}),
        ("Execute Script", {"script_name": "slow.py"}),
        ("Final Answer", {"final_answer": "Done."}),
    ]
    file = place.folder / "actions.jsonl"
    file.write_text("\n".join(json.dumps({"name": name, "args": args}) for name, args in actions))
    with subprocess.Popen(
        [COMMAND, "run", str(place.task), "-a", "scripted", "-c", f"file={file}"],
        cwd=place.folder,
        env=place.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        for line in process.stdout:
            if "begun" in line:
                break
        process.send_signal(number)
        told = process.stderr.read()
        assert process.wait(timeout=60) == 130, told
    assert "Traceback" not in told
    again = re.search(r"mlagentbench resume (\S+)", told)
    assert again, told
    (run,) = place.json("list", "--runs")
    assert run["summary"]["ended"] == "" and run["summary"]["steps"] == 2
    resumed = place.json("resume", again[1], "--execution-time", "2s")["runs"][0]
    assert resumed["summary"]["ended"] == "submitted" and resumed["summary"]["steps"] == 4
    assert "resumed after step 2" in place("show", "last").stdout
    place("verify", "last")


def test_resuming_a_run_that_has_ended_tells_its_grade_again(place, scripted):
    folder = scripted(
        ("Execute Script", {"script_name": "train.py"}), ("Final Answer", {"final_answer": "x"})
    )
    assert "score" in place("resume", folder).stdout
