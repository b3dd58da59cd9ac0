"""Change what is not its own."""

from __future__ import annotations

from attacks.attack import RACE, SYSCALL, Attack
from attacks.judges import DATA, METADATA, NODES, OUTSIDE, REFUSED, SETUID

WRITING = (
    Attack("write to read-only data", 'open("data/train.csv", "w").write("mine")', DATA),
    Attack(
        "change the mode of read-only data, then write",
        'os.chmod("data/train.csv", 0o666); os.chmod("data", 0o777); open("data/train.csv", "w").write("mine")',
        DATA,
    ),
    Attack(
        "rename another file over read-only data",
        'open("mine", "w").write("mine"); os.replace("mine", "data/train.csv")',
        DATA,
    ),
    Attack(
        "remove read-only data and make them anew",
        """
for path in ("data/train.csv", "single.csv"):
    try:
        os.remove(path)
    except OSError as error:
        print(error)
    open(path, "w").write("mine")
""",
        DATA,
    ),
    Attack(
        "rename the folder of read-only data",
        'os.rename("data", "old"); os.mkdir("data"); open("old/train.csv", "a").write("mine")',
        DATA,
    ),
    Attack(
        "write to read-only data through a hard link",
        'os.link("data/train.csv", "mine"); open("mine", "w").write("mine")',
        DATA,
    ),
    Attack(
        "write to read-only data through a symbolic link to where they lie",
        'os.symlink(os.environ["DATA"] + "/train.csv", "mine"); open("mine", "w").write("mine")',
        DATA,
    ),
    Attack("cut read-only data short", 'os.truncate("data/train.csv", 0)', DATA),
    Attack(
        "cut read-only data short by opening them",
        'os.open("data/train.csv", os.O_RDONLY | os.O_TRUNC)',
        DATA,
    ),
    Attack(
        "write to read-only data through a shared mapping",
        """
import mmap
file = os.open("data/train.csv", os.O_RDWR)
mmap.mmap(file, 0)[:4] = b"mine"
""",
        DATA,
    ),
    Attack(
        "change the times of read-only data",
        'os.utime("data/train.csv", (0, 0)); os.utime("single.csv", (0, 0))',
        METADATA,
    ),
    Attack(
        "change the mode of a file outside",
        """
places = (os.environ["PRIVATE"], os.environ["HOME_FOLDER"], os.environ["DATA"], "data/train.csv", "single.csv")
for place in places:
    for attempt in (lambda: os.chmod(place, 0o777), lambda: os.chmod(place, 0o777, dir_fd=os.open("/", 0)),
                    lambda: os.fchmod(os.open(place, os.O_RDONLY), 0o777),
                    lambda: os.fchmod(os.open(place, os.O_PATH), 0o777),
                    lambda: os.chmod("/proc/self/root/" + os.path.abspath(place), 0o777),
                    lambda: os.chmod(f"/proc/{os.environ['HARNESS']}/root/" + os.path.abspath(place), 0o777)):
        try:
            attempt()
        except OSError as error:
            print(error)
""",
        METADATA,
    ),
    Attack(
        "change the mode of a file outside by a path that changes while it is looked at",
        RACE
        + """
open("mine", "w").close()
race(b"mine", os.environ["DATA"].encode(), lambda place: libc.chmod(place, 0o777))
""",
        METADATA,
    ),
    Attack(
        "change the mode of a file outside by a link that changes while it is looked at",
        """
import threading, time
open("mine", "w").close()
end = time.monotonic() + 1
def swap():
    while time.monotonic() < end:
        for target in ("mine", os.environ["DATA"]):
            os.symlink(target, "new")
            os.replace("new", "link")
os.symlink("mine", "link")
thread = threading.Thread(target=swap)
thread.start()
while time.monotonic() < end:
    try:
        os.chmod("link", 0o777)
    except OSError:
        pass
thread.join()
""",
        METADATA,
    ),
    Attack(
        "give a file outside other attributes",
        SYSCALL
        + """
import fcntl
for place in (os.environ["HOME_FOLDER"], os.environ["DATA"], "data/train.csv", "single.csv"):
    for attempt in (lambda: os.setxattr(place, "user.mine", b"1"), lambda: os.chown(place, -1, os.getgid()),
                    lambda: call(463, 463, -100, place.encode(), 0, b"user.mine", struct.pack("=QII", 0, 0, 0), 16),
                    lambda: fcntl.ioctl(os.open(place, os.O_RDONLY), 0x40086602, struct.pack("=Q", 0x40))):
        try:
            attempt()
        except OSError as error:
            print(error)
""",
        METADATA,
    ),
    Attack(
        "mount something over read-only data",
        SYSCALL + 'sys.exit(0 if libc.mount(b"none", b"data", b"tmpfs", 0, None) == 0 else 9)',
        REFUSED,
    ),
    Attack(
        "mount read-only data again, writable",
        SYSCALL
        + """
for place in (b"data", b"/", b"/usr"):
    libc.mount(b"none", place, None, 32 | 4096, None)
libc.mount(os.environ["DATA"].encode(), b"data", None, 4096, None)
open("data/train.csv", "w").write("mine")
""",
        DATA,
    ),
    Attack(
        "mount with the newer calls",
        SYSCALL
        + """
tree = call(428, 428, -100, b"data", 1)
attributes = struct.pack("=QQQQ", 0, 1, 0, 0)
sys.exit(0 if call(442, 442, -100, b"data", 0, attributes, 32) == 0 or tree >= 0 else 9)
""",
        REFUSED,
    ),
    Attack(
        "take away what is mounted",
        SYSCALL + 'sys.exit(0 if libc.umount2(b"data", 2) == 0 else 9)',
        REFUSED,
    ),
    Attack(
        "write into the interpreter's folders",
        'open(os.environ["VISIBLE"] + "/MARK-" + os.environ["MARK"], "w").write("mine")',
        OUTSIDE,
    ),
    Attack(
        "leave files in the host's temporary folder",
        """
for folder in ("/tmp", "/var/tmp", "/run", "/", "/home", os.path.dirname(os.getcwd())):
    try:
        open(f"{folder}/MARK-{os.environ['MARK']}", "w").write("mine")
    except OSError as error:
        print(error)
""",
        OUTSIDE,
    ),
    Attack(
        "leave a set-user-id program behind",
        """
import shutil
shutil.copy("/bin/sh", "root-shell")
for attempt in (lambda: os.chmod("root-shell", 0o4755),
                lambda: os.fchmod(os.open("root-shell", os.O_RDONLY), 0o6755),
                lambda: os.chmod("root-shell", 0o4755, dir_fd=os.open(".", 0)),
                lambda: os.close(os.open("second", os.O_CREAT | os.O_WRONLY, 0o4777)),
                lambda: os.mknod("third", 0o104777)):
    try:
        attempt()
    except OSError as error:
        print(error)
""",
        SETUID,
    ),
    Attack(
        "make device nodes",
        """
import stat
for kind in (stat.S_IFCHR, stat.S_IFBLK):
    try:
        os.mknod(f"device{kind}", kind | 0o666, os.makedev(1, 1))
    except OSError as error:
        print(error)
""",
        NODES,
    ),
)
