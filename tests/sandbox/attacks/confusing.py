"""Crash the harness by what lies in the workspace."""

from __future__ import annotations

from attacks.attack import Attack
from attacks.judges import GOES_ON

CONFUSING = (
    Attack(
        "make names with newlines, invalid UTF-8 and 255 bytes",
        """
for name in (b"new\\nline", b"inv\\xff\\xfealid", b"n" * 255, b" ", b"-rf", b"\\x1b[2J", b"a\\\\b", b"..."):
    os.mkdir(name); open(name + b"/" + name, "w").close()
""",
        GOES_ON,
    ),
    Attack(
        "put a FIFO where a file is expected", 'os.mkfifo("submission.csv"); os.mkfifo("train.py")', GOES_ON
    ),
    Attack(
        "put a socket where a file is expected",
        'import socket; socket.socket(socket.AF_UNIX).bind("submission.csv")',
        GOES_ON,
    ),
    Attack(
        "make a tree of a thousand levels",
        """
for _ in range(1000):
    os.mkdir("deep"); os.chdir("deep")
open("bottom", "w").close()
""",
        GOES_ON,
    ),
    Attack(
        "make a sparse file of a tebibyte",
        'open("sparse", "w").truncate(1 << 40)',
        GOES_ON,
    ),
    Attack(
        "make links to everywhere, and around in circles",
        """
os.symlink("/", "root"); os.symlink(".", "self"); os.symlink("b", "a"); os.symlink("a", "b"); os.mkdir("c")
os.symlink("../..", "c/up")
""",
        GOES_ON,
    ),
    Attack(
        "lock the harness out of the workspace",
        """
import time
os.mkdir("locked"); open("locked/file", "w").close(); os.chmod("locked", 0)
time.sleep(0.4)
os.chmod(".", 0)
""",
        GOES_ON,
    ),
    Attack(
        "swap folders for links while the harness counts",
        """
import time
os.mkdir("folder"); os.symlink("/", "link")
end = time.monotonic() + 1
while time.monotonic() < end:
    os.rename("folder", "saved"); os.rename("link", "folder")
    os.rename("folder", "link"); os.rename("saved", "folder")
""",
        GOES_ON,
    ),
)
