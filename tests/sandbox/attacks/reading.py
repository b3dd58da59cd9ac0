"""Read what is hidden."""

from __future__ import annotations

from attacks.attack import SYSCALL, Attack
from attacks.judges import REFUSED, Judge, leaks

READING = (
    Attack("open the private answers", 'print(open(os.environ["PRIVATE"]).read())', leaks("answers")),
    Attack(
        "search the whole file system for the answers",
        """
for folder, folders, files in os.walk("/"):
    if folder == "/":
        folders[:] = [f for f in folders if f not in ("usr", "proc", "sys", "dev", "lib", "nix")]
    for name in files:
        if name == "answers.csv":
            print(open(os.path.join(folder, name)).read(100))
""",
        leaks("answers"),
    ),
    Attack(
        "link to the answers by a symbolic link and read that",
        'os.symlink(os.environ["PRIVATE"], "mine.csv"); print(open("mine.csv").read())',
        leaks("answers"),
    ),
    Attack(
        "link to the answers by a hard link and read that",
        'os.link(os.environ["PRIVATE"], "mine.csv"); print(open("mine.csv").read())',
        leaks("answers"),
    ),
    Attack(
        "reach the answers through another process's root",
        """
for pid in ["1", "self", os.environ["HARNESS"], str(os.getppid())]:
    for door in ("root", "cwd"):
        try:
            print(open(f"/proc/{pid}/{door}" + os.environ["PRIVATE"]).read())
        except OSError as error:
            print(error)
""",
        leaks("answers"),
    ),
    Attack(
        "reach the answers by a file handle",
        SYSCALL
        + """
handle = struct.pack("=IiQ", 8, 1, 2) + bytes(120)
here = os.open(".", os.O_RDONLY)
root = call(304, 265, here, handle, os.O_RDONLY | os.O_DIRECTORY)
print(open(os.open(os.environ["PRIVATE"].lstrip("/"), os.O_RDONLY, dir_fd=root)).read())
""",
        leaks("answers"),
    ),
    Attack(
        "escape by chroot and `..`",
        """
os.mkdir("jail")
outside = os.open(".", os.O_RDONLY)
os.chroot("jail")
os.fchdir(outside)
os.chdir("../" * 40)
os.chroot(".")
print(open(os.environ["PRIVATE"]).read())
""",
        leaks("answers"),
    ),
    Attack(
        "read how the answers are made (prepare.py)",
        'print(open(os.environ["PREPARE"]).read())',
        leaks("recipe"),
    ),
    Attack(
        "open the solution in an installed package",
        'print(open(os.environ["SOLUTION"]).read())',
        leaks("solution"),
    ),
    Attack(
        "import the solution from an installed package",
        """
sys.path.insert(0, os.path.dirname(os.path.dirname(os.environ["SOLUTION"])))
import installed.solution
print(installed.solution.ANSWER)
""",
        leaks("solution"),
    ),
    Attack("read another run's folder", 'print(open(os.environ["OTHER_RUN"]).read())', leaks("other run")),
    Attack(
        "read the home folder",
        """
for home in (os.environ["HOME_FOLDER"], "/root", os.path.expanduser("~")):
    try:
        for name in os.listdir(home):
            print(name, open(os.path.join(home, name)).read())
    except OSError as error:
        print(error)
""",
        leaks("home"),
    ),
    Attack(
        "read /etc/shadow",
        'print(open("/etc/shadow").read())',
        Judge("lines of that file are looked for in the output", lambda e: b":99999:" in e.output),
    ),
    Attack(
        "list the host's private keys, with the network on",
        """
found = []
for folder in ("/etc/ssl/private", "/etc/pki/tls/private", "/etc/pki/CA/private"):
    try:
        found += [folder, *os.listdir(folder)]
    except OSError as error:
        print(error)
raise SystemExit(not found)
""",
        REFUSED,
        network=True,
    ),
    Attack(
        "read the harness's memory",
        """
pid = os.environ["HARNESS"]
memory = open(f"/proc/{pid}/mem", "rb", 0)
for line in open(f"/proc/{pid}/maps"):
    if "[heap]" in line or "rw-p" in line:
        start, end = (int(part, 16) for part in line.split()[0].split("-"))
        memory.seek(start)
        data = memory.read(end - start)
        at = data.find(b"SECRET-OF-MEMORY")
        while at >= 0:
            print(data[at:at + 60]); at = data.find(b"SECRET-OF-MEMORY", at + 1)
""",
        leaks("memory"),
    ),
    Attack(
        "read the harness's memory by process_vm_readv",
        SYSCALL
        + """
pid = int(os.environ["HARNESS"])
address = int(os.environ["MEMORY_ADDRESS"])
buffer = ctypes.create_string_buffer(200)
local = struct.pack("=QQ", ctypes.addressof(buffer), 200)
call(310, 270, pid, local, 1, struct.pack("=QQ", address, 200), 1, 0)
print(buffer.raw)
""",
        leaks("memory"),
    ),
    Attack(
        "attach to the harness as a debugger",
        SYSCALL
        + """
pid = int(os.environ["HARNESS"])
if call(101, 117, 0x4206, pid, 0, 0) != 0:
    sys.exit(9)
call(101, 117, 17, pid, 0, 0)
""",
        REFUSED,
    ),
    Attack(
        "read the environment of every process",
        """
import glob
for path in [f"/proc/{os.environ['HARNESS']}/environ", *glob.glob("/proc/*/environ")]:
    try:
        print(open(path, "rb").read())
    except OSError:
        pass
""",
        leaks("environment"),
    ),
    Attack(
        "read the harness's command line",
        "print(open(f\"/proc/{os.environ['HARNESS']}/cmdline\").read())",
        leaks("command line"),
    ),
    Attack(
        "read what others have in shared memory",
        """
for name in os.listdir("/dev/shm"):
    print(open(f"/dev/shm/{name}", "rb").read(1000))
""",
        leaks("shared memory"),
    ),
    Attack(
        "learn names in a hidden folder by watching it (inotify)",
        SYSCALL
        + """
watch = libc.inotify_init1(0)
added = libc.inotify_add_watch(watch, os.path.dirname(os.environ["PRIVATE"]).encode(), 0xFFF)
sys.exit(0 if added >= 0 else 9)
""",
        REFUSED,
    ),
    Attack(
        "read what the harness has open",
        """
folder = f"/proc/{os.environ['HARNESS']}/fd"
for name in os.listdir(folder):
    try:
        print(os.pread(os.open(f"{folder}/{name}", os.O_RDONLY), 1000, 0))
    except OSError:
        pass
""",
        leaks("open file"),
    ),
    Attack(
        "read the environment and memory of a sibling in another sandbox",
        """
import glob
for path in glob.glob("/proc/[0-9]*"):
    for name in ("environ", "cmdline"):
        try:
            print(open(f"{path}/{name}", "rb").read())
        except OSError:
            pass
""",
        leaks("sibling"),
    ),
)
