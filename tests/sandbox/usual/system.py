"""The standard library, and programs of the system."""

from __future__ import annotations

from usual.program import NO_LOOPBACK, NO_SHARED_MEMORY, UsualProgram

PLAIN = (
    UsualProgram(
        "files and folders",
        """
import pathlib
p = pathlib.Path('a/b')
p.mkdir(parents=True)
(p / 'c').write_text('x')
""",
    ),
    UsualProgram(
        "tempfile",
        """
import tempfile
tempfile.NamedTemporaryFile().write(b'x')
tempfile.mkdtemp()
""",
    ),
    UsualProgram(
        "a literal /tmp",
        """
open('/tmp/mine', 'w').write('x')
""",
        landlock="no: use tempfile or TMPDIR",
    ),
    UsualProgram(
        "the home folder",
        """
import pathlib
(pathlib.Path.home() / '.cache').mkdir()
(pathlib.Path.home() / '.cache/x').touch()
""",
    ),
    UsualProgram(
        "shutil.copy, copy2, copytree",
        """
import os, shutil
os.mkdir('a')
shutil.copy('/etc/passwd', 'a/p')
shutil.copy2('/etc/passwd', 'a/q')
shutil.copytree('a', 'b')
""",
    ),
    UsualProgram(
        "chmod and run a script",
        """
import os, subprocess
open('s', 'w').write('#!/bin/sh\\nexit 0\\n')
os.chmod('s', 493)
subprocess.run(['./s'], check=True)
""",
    ),
    UsualProgram(
        "zip and tar",
        """
import shutil, os
os.mkdir('a')
open('a/x', 'w').close()
shutil.make_archive('t', 'gztar', 'a')
shutil.make_archive('z', 'zip', 'a')
shutil.unpack_archive('t.tar.gz', 'b')
""",
    ),
    UsualProgram(
        "tar, the program",
        """
import subprocess, os
os.mkdir('a')
open('a/x', 'w').close()
subprocess.run('tar czf t.tgz a && mkdir b && tar xzf t.tgz -C b && touch -d 2001-01-01 b/a/x', shell=True, check=True)
""",
    ),
    UsualProgram(
        "cp -a, mv, find, sort, sed, awk",
        """
import subprocess
command = 'echo b > x; cp -a x y; mv y z; find . -name z | grep -q z; sort x | sed s/b/c/ | awk 1 | grep -q c'
subprocess.run(command, shell=True, check=True)
""",
    ),
    UsualProgram(
        "subprocess and pipes",
        """
import subprocess
assert subprocess.run('echo a | cat', shell=True, capture_output=True).stdout == b'a\\n'
""",
    ),
    UsualProgram(
        "bash with process substitution",
        """
import subprocess
subprocess.run(['bash', '-c', 'diff <(echo a) <(echo a)'], check=True)
""",
    ),
    UsualProgram(
        "os.system and os.popen",
        """
import os
assert os.system('true') == 0 and os.popen('echo a').read() == 'a\\n'
""",
    ),
    UsualProgram(
        "os.fork and signals",
        """
import os, signal, time
pid = os.fork()
if pid == 0:
    time.sleep(30)
os.kill(pid, signal.SIGTERM)
os.waitpid(pid, 0)
""",
    ),
    UsualProgram(
        "threading",
        """
import threading
t = threading.Thread(target=print, args=('x',))
t.start()
t.join()
""",
    ),
    UsualProgram(
        "concurrent.futures, threads",
        """
from concurrent.futures import ThreadPoolExecutor as T
assert list(T(4).map(abs, [-1, 2])) == [1, 2]
""",
    ),
    UsualProgram(
        "concurrent.futures, processes",
        """
from concurrent.futures import ProcessPoolExecutor as P
if __name__ == '__main__':
    assert list(P(2).map(abs, [-1, 2])) == [1, 2]
""",
        landlock=NO_SHARED_MEMORY,
    ),
    UsualProgram(
        "multiprocessing.Process and Pipe",
        """
import multiprocessing as m
a, b = m.Pipe()
p = m.Process(target=b.send, args=(1,))
p.start()
assert a.recv() == 1
p.join()
""",
    ),
    UsualProgram(
        "multiprocessing.Pool",
        """
import multiprocessing as m
with m.Pool(2) as p:
    assert p.map(abs, [-1, 2]) == [1, 2]
""",
        landlock=NO_SHARED_MEMORY,
    ),
    UsualProgram(
        "multiprocessing.Queue and Lock",
        """
import multiprocessing as m
q = m.Queue()
q.put(1)
assert q.get() == 1
m.Lock()
""",
        landlock=NO_SHARED_MEMORY,
    ),
    UsualProgram(
        "multiprocessing.Manager",
        """
import multiprocessing as m
if __name__ == '__main__':
    assert m.Manager().list([1])[0] == 1
""",
    ),
    UsualProgram(
        "multiprocessing.shared_memory",
        """
from multiprocessing.shared_memory import SharedMemory as S
s = S(create=True, size=10)
s.close()
s.unlink()
""",
        landlock=NO_SHARED_MEMORY,
    ),
    UsualProgram(
        "multiprocessing.Array, mmap",
        """
import mmap
m = mmap.mmap(-1, 100)
m[0] = 1
""",
    ),
    UsualProgram(
        "asyncio with a subprocess",
        """
import asyncio

async def f():
    p = await asyncio.create_subprocess_exec('true')
    assert await p.wait() == 0
asyncio.run(f())
""",
    ),
    UsualProgram(
        "socket.socketpair",
        """
import socket
a, b = socket.socketpair()
a.send(b'x')
assert b.recv(1) == b'x'
""",
    ),
    UsualProgram(
        "a local socket of its own",
        """
import socket
s = socket.socket(socket.AF_UNIX)
s.bind('s')
s.listen()
c = socket.socket(socket.AF_UNIX)
c.connect('s')
s.accept()
""",
    ),
    UsualProgram(
        "a server on its own loopback",
        """
import socket
s = socket.create_server(('127.0.0.1', 0))
socket.create_connection(s.getsockname())
s.accept()
""",
        landlock=NO_LOOPBACK,
    ),
    UsualProgram(
        "sqlite3",
        """
import sqlite3
d = sqlite3.connect('d.db')
d.execute('create table t (x)')
d.execute('insert into t values (1)')
d.commit()
d.execute('pragma journal_mode=wal')
d.execute('vacuum')
""",
    ),
    UsualProgram(
        "file locks",
        """
import fcntl
f = open('l', 'w')
fcntl.flock(f, fcntl.LOCK_EX)
fcntl.lockf(f, fcntl.LOCK_EX)
""",
    ),
    UsualProgram(
        "platform",
        """
import platform
platform.platform()
platform.processor()
platform.freedesktop_os_release()
""",
    ),
    UsualProgram(
        "getpass, pwd and grp",
        """
import getpass, pwd, grp, os
getpass.getuser() if 'USER' in os.environ else None
pwd.getpwall()
grp.getgrall()
""",
    ),
    UsualProgram(
        "locale and time zones",
        """
import locale, time, zoneinfo
locale.setlocale(locale.LC_ALL, '')
time.tzset()
zoneinfo.ZoneInfo('Europe/Paris')
""",
    ),
    UsualProgram(
        "os.cpu_count and control groups",
        """
import os, pathlib
assert os.cpu_count()
for name in ('cpu.max', 'memory.max', 'cpu/cpu.cfs_quota_us', 'memory/memory.limit_in_bytes'):
    p = '/sys/fs/cgroup/' + name
    if os.path.exists(p):
        pathlib.Path(p).read_text()
""",
    ),
    UsualProgram(
        "/proc of the machine and of itself",
        """
machine = ('cpuinfo', 'meminfo', 'stat', 'loadavg', 'sys/kernel/osrelease', 'sys/kernel/random/boot_id')
for p in (*machine, 'self/status', 'self/maps', 'self/mountinfo', 'self/cgroup'):
    open('/proc/' + p).read()
""",
    ),
    UsualProgram(
        "/proc/self of a child",
        """
import subprocess
subprocess.run(['cat', '/proc/self/status'], check=True, stdout=subprocess.DEVNULL)
""",
        landlock="no: rules are made before the child is there",
    ),
    UsualProgram(
        "/dev/null, /dev/urandom, /dev/stdout",
        """
open('/dev/null', 'w').write('x')
open('/dev/urandom', 'rb').read(8)
open('/dev/stdout', 'w').write('x\\n')
""",
    ),
    UsualProgram(
        "a pseudo-terminal",
        """
import pty
pty.openpty()
""",
        landlock="no: terminals are the host's",
    ),
    UsualProgram(
        "a random number and a hash",
        """
import secrets, hashlib, ssl, uuid
secrets.token_hex()
hashlib.sha256(b'x')
ssl.create_default_context()
uuid.uuid1()
""",
    ),
    UsualProgram(
        "ctypes",
        """
import ctypes, ctypes.util
ctypes.CDLL(None).getpid()
ctypes.util.find_library('m')
""",
    ),
    UsualProgram(
        "python -m venv",
        """
import subprocess, sys
subprocess.run([sys.executable, '-m', 'venv', '--without-pip', 'v'], check=True)
subprocess.run(['v/bin/python', '-c', ''], check=True)
""",
    ),
    UsualProgram(
        "git",
        """
import subprocess
setup = 'git init -q . && git config user.email a@b.c && git config user.name a && echo x > f && git add f'
work = 'git commit -qm x && git log --oneline && git checkout -qb other && git stash list && git gc -q'
subprocess.run(setup + ' && ' + work, shell=True, check=True)
""",
    ),
    UsualProgram(
        "a C program",
        """
import shutil, subprocess
if shutil.which('gcc'):
    open('x.c', 'w').write('int main(void) { return 0; }')
    subprocess.run('gcc x.c -o x && ./x', shell=True, check=True)
""",
    ),
    UsualProgram(
        "make",
        """
import shutil, subprocess
if shutil.which('make'):
    open('Makefile', 'w').write('a: b\\n\\tcp b a\\nb:\\n\\ttouch b\\n')
    subprocess.run(['make'], check=True)
""",
    ),
)
