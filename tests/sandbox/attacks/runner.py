"""Runs attacks on one backend and prints a line of JSON for each. It is the harness that they attack.

    python runner.py BACKEND[@VERSION] [NAME...] COMMAND-LINE-SECRET

A process of its own, so that it can run as another user, with a secret in its environment from the start.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from attacks import ATTACKS, Attack
from attacks.scene import ENVIRONMENT_SECRET, Evidence, Scene, signals_received
from mlagentbench.sandbox import Interpreter, Job, Mount, ResourceLimits, Sandbox, choose, disk
from mlagentbench.sandbox.landlock import LandlockSandbox

LIMITS = ResourceLimits(
    seconds=10, memory=200_000_000, processes=40, disk=40_000_000, files=3000, output=1_000_000
)


def attack_once(sandbox: Sandbox, attack: Attack) -> dict[str, object]:
    folder = Path(tempfile.mkdtemp(prefix="attack-", dir="/tmp"))
    scene = Scene(folder, links=sandbox.links_read_only())
    try:
        return _judge(sandbox, attack, scene)
    finally:
        scene.close()
        disk.remove(folder)


def _judge(sandbox: Sandbox, attack: Attack, scene: Scene) -> dict[str, object]:
    python = Path(sys.base_prefix, "bin", f"python{sys.version_info.major}.{sys.version_info.minor}")
    interpreter = Interpreter(python, (Path(sys.base_prefix), scene.visible))
    limits = replace(LIMITS, **attack.limits)
    code = "import os, sys\n" + attack.code
    job = Job(
        argv=(str(python), "-I", "-c", code, scene.mark),
        workspace=scene.workspace,
        limits=limits,
        interpreter=interpreter,
        read_only={"data": scene.data, "single.csv": scene.single},
        hidden=(scene.private.parent, scene.solution.parent, scene.prepare.parent),
        mounts=(Mount(scene.outputs, str(scene.outputs), writable=True),),
        environment=scene.environment(),
        network=attack.network,
    )
    sibling = None
    if attack.judge.how.count("sibling"):
        waiting = replace(job, argv=("sleep", "30"), environment={"SIBLING": scene.secrets["sibling"]})
        sibling = sandbox.start(waiting, lambda chunk: None)
    if "FREE_PORT" in attack.code:
        scene.listeners.keep_calling()
    output = bytearray()
    result = sandbox.run(job, output.extend)
    if sibling:
        sibling.kill()
    survivors = scene.survivors()
    said = bytearray()
    sandbox.run(replace(job, argv=("echo", "next"), limits=LIMITS), said.extend)
    used = sum(disk.measure(each, limits.files * 10).size for each in (scene.workspace, scene.outputs))
    evidence = Evidence(scene, result, bytes(output), limits, survivors, said == b"next\n", used)
    got_through = attack.judge.got_through(evidence)
    return {
        "name": attack.name,
        "got_through": got_through,
        "goes_on": evidence.next_program_ran,
        "survivors": len(survivors),
        "result": repr(result),
        "output": bytes(output[-2000:]).decode(errors="replace"),
    }


def main() -> None:
    for number in (signal.SIGTERM, signal.SIGUSR1):
        signal.signal(number, lambda received, frame: signals_received.append(received))
    backend, *names, _ = sys.argv[1:]
    assert os.environ[ENVIRONMENT_SECRET]
    kind, _, version = backend.partition("@")
    sandbox = LandlockSandbox(int(version)) if version else choose(kind)
    for name in names or ATTACKS:
        print(json.dumps(attack_once(sandbox, ATTACKS[name])), flush=True)


if __name__ == "__main__":
    main()
