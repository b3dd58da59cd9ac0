"""Exhaust the machine."""

from __future__ import annotations

from attacks.attack import SYSCALL, Attack
from attacks.judges import DISK, MEMORY, Judge, disk_held, memory_held, stopped_by

EXHAUSTING = (
    Attack(
        "take all memory",
        """
import time
held = []
for _ in range(300):
    held.append(bytearray(os.urandom(1) * (4 << 20)))
""",
        MEMORY,
    ),
    Attack(
        "take all memory in many children",
        """
import time
for _ in range(20):
    if os.fork() == 0:
        held = bytearray(b"x" * (40 << 20))
        time.sleep(8)
        os._exit(0)
time.sleep(8)
""",
        MEMORY,
    ),
    Attack(
        "take all memory, unreadable to others",
        """
import ctypes
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
held = [bytearray(b"x" * (4 << 20)) for _ in range(300)]
""",
        MEMORY,
    ),
    Attack(
        "take all memory through /dev/shm",
        """
import time
with open(f"/dev/shm/MARK-{os.environ['MARK']}", "wb") as file:
    for _ in range(300):
        file.write(bytes(4 << 20))
time.sleep(0.5)
""",
        MEMORY,
    ),
    Attack(
        "take all memory through /tmp",
        """
import tempfile, time
with tempfile.TemporaryFile() as file:
    for _ in range(300):
        file.write(bytes(4 << 20))
    time.sleep(0.5)
""",
        Judge(
            "the result names the limit, or the peak stayed below it",
            lambda e: memory_held(e) and disk_held(e),
        ),
    ),
    Attack(
        "take all memory in shared pages that it lets go of",
        """
import mmap, time
shared = mmap.mmap(-1, 1 << 30)
for at in range(0, 1 << 30, 1 << 22):
    shared[at:at + (1 << 22)] = b"x" * (1 << 22)
    shared.madvise(mmap.MADV_DONTNEED, at, 1 << 22)
    time.sleep(0.002)
time.sleep(0.3)
""",
        MEMORY,
    ),
    Attack(
        "take all memory in a file that lies nowhere (memfd)",
        """
file = os.memfd_create("hidden")
for _ in range(300):
    os.write(file, bytes(4 << 20))
""",
        MEMORY,
    ),
    Attack(
        "take all memory in System V shared memory",
        SYSCALL
        + """
libc.shmat.restype = ctypes.c_void_p
segment = call(29, 194, 0, ctypes.c_size_t(1 << 30), 0o1600)
if segment < 0:
    sys.exit(9)
address = libc.shmat(segment, None, 0)
libc.shmctl(segment, 0, None)
ctypes.memset(address, 1, 1 << 30)
""",
        MEMORY,
    ),
    Attack(
        "take all processes (fork bomb)",
        """
import time
end = time.monotonic() + 8
while time.monotonic() < end:
    try:
        os.fork()
    except OSError:
        time.sleep(0.01)
""",
        stopped_by("processes"),
    ),
    Attack(
        "take all threads",
        """
import threading, time
def wait():
    time.sleep(8)
for _ in range(500):
    try:
        threading.Thread(target=wait, daemon=True).start()
    except RuntimeError:
        time.sleep(0.2)
""",
        stopped_by("processes"),
    ),
    Attack(
        "fill the disk with one file",
        """
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
with open("large", "wb") as file:
    for _ in range(300):
        file.write(bytes(1 << 20))
        file.flush()
""",
        DISK,
    ),
    Attack(
        "fill the disk with many files",
        """
for number in range(300):
    open(f"part{number}", "wb").write(bytes(1 << 20))
""",
        DISK,
    ),
    Attack(
        "fill the disk with files that have no name",
        """
import time
files = []
for number in range(100):
    files.append(open("nameless", "wb"))
    os.remove("nameless")
    files[-1].write(bytes(2 << 20)); files[-1].flush()
    time.sleep(0.01)
time.sleep(2)
""",
        DISK,
    ),
    Attack(
        "fill the disk with nameless files that are only mapped",
        """
import ctypes, mmap, time
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
for number in range(100):
    with open("nameless", "w+b") as file:
        os.remove("nameless")
        file.write(bytes(2 << 20)); file.flush()
        libc.mmap(None, ctypes.c_size_t(2 << 20), mmap.PROT_READ, mmap.MAP_SHARED, file.fileno(), ctypes.c_long(0))
    time.sleep(0.01)
time.sleep(2)
""",
        DISK,
    ),
    Attack(
        "fill the disk in the folder for a program's outputs",
        """
for n in range(1000):
    open(os.path.join(os.environ["OUTPUTS"], str(n)), "wb").write(bytes(1_000_000))
""",
        DISK,
    ),
    Attack(
        "fill the disk out of sight, in a folder that cannot be listed",
        """
import time
os.mkdir("dark", 0o300)
for number in range(300):
    open(f"dark/part{number}", "wb").write(bytes(1 << 20))
    time.sleep(0.005)
""",
        DISK,
    ),
    Attack(
        "take all inodes",
        """
for number in range(60000):
    open(f"empty{number}", "w").close()
""",
        stopped_by("files"),
    ),
    Attack(
        "take all inodes in the folder for a program's outputs",
        """
import time
for n in range(20_000):
    open(os.path.join(os.environ["OUTPUTS"], str(n)), "wb").close()
time.sleep(20)
""",
        stopped_by("files"),
    ),
    Attack(
        "take all inodes of /tmp",
        """
import tempfile, time
folder = tempfile.gettempdir()
for number in range(60000):
    open(f"{folder}/empty{number}", "w").close()
time.sleep(0.3)
""",
        stopped_by("files"),
    ),
    Attack(
        "flood the output",
        """
while True:
    os.write(1, b"flood" * 10000)
""",
        Judge(
            "the result names the limit, and what was delivered is within it",
            lambda e: stopped_by("output").got_through(e) or len(e.output) > e.limits.output,
        ),
    ),
    Attack(
        "flood the standard error with one endless line",
        """
while True:
    os.write(2, b"\\r" + b"#" * 5000)
""",
        stopped_by("output"),
    ),
)
