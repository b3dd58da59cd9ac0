"""How it is told, from outside, whether an attack got through. Each says how in words, for the documentation."""

from __future__ import annotations

from attacks.scene import Evidence, Judge


def leaks(secret: str) -> Judge:
    def judge(evidence: Evidence) -> bool:
        return evidence.scene.secrets[secret].encode() in evidence.output

    return Judge(f"the secret ({secret}) is looked for in the output", judge)


def contacts(listener: str) -> Judge:
    def judge(evidence: Evidence) -> bool:
        return evidence.scene.listeners.heard(listener)

    return Judge(f"a listener of the host ({listener}) was spoken to or not", judge)


def stopped_by(*names: str) -> Judge:
    def judge(evidence: Evidence) -> bool:
        limit = evidence.result.limit
        return limit is None or limit.name not in names

    return Judge(f"the result names the limit ({' or '.join(names)})", judge)


def memory_held(evidence: Evidence) -> bool:
    limit = evidence.result.limit
    if limit is not None and limit.name == "memory":
        return False
    return evidence.result.exit_status == 0 or evidence.result.peak_memory > 1.3 * evidence.limits.memory


def disk_held(evidence: Evidence) -> bool:
    limit = evidence.result.limit
    named = limit is not None and limit.name in ("disk", "files")
    return not named and (evidence.result.exit_status == 0 or evidence.disk_used > 1.5 * evidence.limits.disk)


QUEUES = Judge("the queue or semaphore is looked for on the host", lambda e: e.scene.left_queue())
DATA = Judge("the data on the host are compared before and after", lambda e: e.scene.data_changed())
SURVIVORS = Judge("processes with the run's mark are looked for after its end", lambda e: bool(e.survivors))
REFUSED = Judge("its exit status: 0 only if the kernel let it", lambda e: e.result.exit_status == 0)
METADATA = Judge(
    "times, modes and attributes of files on the host are compared", lambda e: e.scene.metadata_changed()
)
HOST = Judge("settings of the host are compared before and after", lambda e: e.scene.host_changed())
HARNESS = Judge(
    "the harness lives, with its limits and priority unchanged", lambda e: e.scene.harness_changed()
)
MEMORY = Judge("the result names the limit, or the peak stayed below it", memory_held)
DISK = Judge("the result names the limit, or the space taken stayed below it", disk_held)
GOES_ON = Judge("the next program in the same workspace runs", lambda e: not e.next_program_ran)
SETUID = Judge("modes of all files in the workspace are looked at", lambda e: e.scene.has_set_id())
NODES = Judge("device nodes are looked for in the workspace", lambda e: e.scene.has_devices())
OUTSIDE = Judge(
    "a file with the run's mark is looked for outside of the workspace", lambda e: e.scene.left_outside()
)
TRUTH = Judge(
    "the exit status that the harness reports is the true one (3)", lambda e: e.result.exit_status != 3
)
