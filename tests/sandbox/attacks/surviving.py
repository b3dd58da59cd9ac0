"""Outlive its step, hurt the harness."""

from __future__ import annotations

from attacks.attack import SYSCALL, Attack
from attacks.judges import HARNESS, OUTSIDE, QUEUES, REFUSED, SURVIVORS, stopped_by

SURVIVING = (
    Attack(
        "leave something in shared memory",
        'open(f"/dev/shm/MARK-{os.environ[\'MARK\']}", "w").write("for the next run")',
        OUTSIDE,
    ),
    Attack(
        "leave a System V message queue or semaphore behind",
        SYSCALL
        + """
key = int(os.environ["MARK"][:7], 16)
queue = libc.msgget(key, 0o1666)
libc.msgsnd(queue, struct.pack("=q", 1) + b"for the next run", 16, 0)
libc.semget(key, 1, 0o1666)
""",
        QUEUES,
    ),
    Attack(
        "leave a POSIX message queue behind",
        SYSCALL
        + """
attributes = struct.pack("=8q", 0, 1, 64, 0, 0, 0, 0, 0)
call(240, 180, os.environ["MARK"].encode(), 0o102, 0o666, attributes)
""",
        QUEUES,
    ),
    Attack(
        "hold up the harness by a lease on a file",
        """
import fcntl
open("mine", "w").close()
fcntl.fcntl(os.open("mine", os.O_RDONLY), 1024, fcntl.F_RDLCK)
""",
        REFUSED,
    ),
    Attack(
        "leave a daemon behind (double fork)",
        """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        import time
        time.sleep(60)
    os._exit(0)
os.wait()
""",
        SURVIVORS,
    ),
    Attack(
        "leave a daemon behind that ignores signals and closes its descriptors",
        """
import signal, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in range(1, 32):
            try:
                signal.signal(number, signal.SIG_IGN)
            except OSError:
                pass
        os.closerange(0, 1024)
        time.sleep(60)
    os._exit(0)
time.sleep(0.1)
""",
        SURVIVORS,
    ),
    Attack(
        "leave a daemon behind that keeps the output open",
        'import subprocess; subprocess.Popen(["sleep", "60"], start_new_session=True); print("done")',
        SURVIVORS,
    ),
    Attack(
        "outrun the end by forking without pause",
        """
import time
def churn():
    end = time.monotonic() + 20
    while time.monotonic() < end:
        if os.fork():
            os._exit(0)
        os.setsid()
if os.fork() == 0:
    churn()
time.sleep(0.3)
""",
        SURVIVORS,
    ),
    Attack(
        "outrun a time limit by forking without pause",
        """
import time
end = time.monotonic() + 20
while time.monotonic() < end:
    if os.fork():
        os._exit(0) if os.getpid() != os.getsid(0) else os.wait()
""",
        SURVIVORS,
        limits={"seconds": 0.7},
    ),
    Attack(
        "stop everything that could end it",
        """
import signal, time
if os.fork() == 0:
    for _ in range(50):
        for pid in {1, os.getppid(), os.getsid(0)} - {os.getpid()}:
            try:
                os.kill(pid, signal.SIGSTOP)
            except OSError:
                pass
        time.sleep(0.01)
os.kill(os.getpid(), signal.SIGSTOP)
""",
        SURVIVORS,
        limits={"seconds": 1.5},
    ),
    Attack("never end", "while True: pass", stopped_by("time"), limits={"seconds": 0.5}),
    Attack(
        "kill the harness",
        """
import signal
pid = int(os.environ["HARNESS"])
for number in (signal.SIGTERM, signal.SIGUSR1):
    try:
        os.kill(pid, number)
    except OSError as error:
        print(error)
""",
        HARNESS,
    ),
    Attack(
        "take the harness's descriptors away (prlimit)",
        """
import resource
resource.prlimit(int(os.environ["HARNESS"]), resource.RLIMIT_NOFILE, (64, 64))
""",
        HARNESS,
    ),
    Attack(
        "make the harness wait (priority)",
        'os.setpriority(os.PRIO_PROCESS, int(os.environ["HARNESS"]), 7)',
        HARNESS,
    ),
    Attack(
        "take the harness's cores away",
        """
pid = int(os.environ["HARNESS"])
os.sched_setaffinity(pid, set(sorted(os.sched_getaffinity(pid))[:1]))
""",
        HARNESS,
    ),
)
