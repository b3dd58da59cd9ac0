"""The one place that starts a program, drains its output, holds its limits, and ends it.

One thread does all of it: the one that started the program, because the kernel's "die with the parent"
follows the thread. Standard output and standard error are one pipe, so that their order is kept.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack
from io import FileIO
from pathlib import Path

from mlagentbench.errors import SandboxError
from mlagentbench.sandbox import cgroup, disk, limits, outcome
from mlagentbench.sandbox.launch import GO, READY, Channels, Confinement, Handle, Planner
from mlagentbench.sandbox.pidfd import open_pidfd, wait_readable
from mlagentbench.sandbox.spec import Job, LimitReached, OutputSink, Result
from mlagentbench.sandbox.surroundings import around_this_process
from mlagentbench.sandbox.tree import Descendants
from mlagentbench.sandbox.watcher import Watcher

_CHUNK = 1 << 16
_SETUP_SECONDS = 60.0
_END_SECONDS = 15.0
_WITHOUT_PIDFD = 0.02


class Supervisor:
    """One program from start to end, all of it in `run`. Other threads may only call `ask_stop` and `send`,
    and may read `handle` and `group`."""

    def __init__(
        self,
        planner: Planner,
        job: Job,
        on_output: OutputSink,
        stdin: bytes = b"",
        on_message: Callable[[bytes], None] | None = None,
        on_ready: Callable[[], None] = lambda: None,
        stays: bool = False,
    ) -> None:
        """A program that `stays` can be frozen, and no deadline is set. With `on_message` it stays too: it gets a
        control channel, and its standard input stays open for `send`. `on_ready` is told when it is let go."""
        self._planner = planner
        self._job = job
        self._on_output = on_output
        self._on_message = on_message
        self._stays = stays or on_message is not None
        self._on_ready = on_ready
        self._pending = bytearray(stdin)
        self._stack = ExitStack()
        self._poll = select.poll()
        self._listening: set[FileIO] = set()
        self._told = outcome.Told()
        self._own_words = b""
        self._message = bytearray()
        self._ready = self._ended = self._waits_to_write = False
        self._written = 0
        self._limit: LimitReached | None = None
        self._stop_asked: LimitReached | bool = False
        self._stopping_since: float | None = None
        self._watcher: Watcher | None = None
        self.handle: Handle | None = None
        self.group: cgroup.Group | None = None
        self.frozen = False

    def run(self) -> Result:
        """Start it and stay until no process of it is left."""
        with self._stack:
            self._start()
            try:
                while not self._ended:
                    self._turn()
            finally:
                self._reap()
            self._drain_all()
            return self._result()

    def ask_stop(self, limit: LimitReached | None = None) -> None:
        """End it as soon as its own thread sees this."""
        self._stop_asked = limit or True
        self.wake()

    def send(self, data: bytes) -> None:
        """Write to its standard input."""
        self._pending += data
        self.wake()

    @property
    def confinement(self) -> Confinement:
        """How it is confined; known once it has started."""
        return self._launch.confinement

    def descendants(self, handle: Handle) -> Descendants:
        """All its processes, as the host numbers them."""
        own = self._launch.confinement.root_belongs
        return Descendants(handle.root if own else handle.outer, inclusive=own)

    def wake(self) -> None:
        """Make its thread look at what others have asked for."""
        if not self._wake_writer.closed:
            self._wake_writer.write(b"w")

    # Starting

    def _start(self) -> None:
        self._output, output_inside = self._pipe()
        self._status, status_inside = self._pipe()
        stdin_inside, self._stdin = self._pipe()
        self._wake_reader, self._wake_writer = self._pipe()
        self._control: FileIO | None = None
        inside = [output_inside, status_inside, stdin_inside]
        control_inside: int | None = None
        if self._on_message:
            self._control, control = self._pipe()
            inside.append(control)
            # A shell can only name single digits in redirections: keep clear of them.
            control_inside = fcntl.fcntl(control.fileno(), fcntl.F_DUPFD_CLOEXEC, 10)
        channels = Channels(status_inside.fileno(), control_inside)
        if control_inside is not None:
            channels.stack.callback(os.close, control_inside)
        self._stack.enter_context(channels.later)
        disk.make_usable(self._job.workspace)
        with channels.stack:
            self._launch = self._planner(self._job, channels)
            self._own_peak = limits.own_peak_memory()
            self._process = self._spawn(stdin_inside, output_inside)
        self._started = time.monotonic()
        self._deadline: float | None = self._started + _SETUP_SECONDS
        for end in inside:
            end.close()
        self._exit = open_pidfd(self._process.pid, self._stack)
        if not self._launch.reports:
            self._meet(self._process.pid)
        for reader in (self._output, self._status, self._control, self._wake_reader):
            if reader is not None:
                self._listen(reader)
        if self._exit is not None:
            self._poll.register(self._exit, select.POLLIN)
        os.set_blocking(self._stdin.fileno(), False)
        os.set_blocking(self._wake_writer.fileno(), False)

    def _pipe(self) -> tuple[FileIO, FileIO]:
        reader, writer = os.pipe()
        return self._stack.enter_context(FileIO(reader, "rb")), self._stack.enter_context(
            FileIO(writer, "wb")
        )

    def _listen(self, reader: FileIO) -> None:
        os.set_blocking(reader.fileno(), False)
        self._poll.register(reader.fileno(), select.POLLIN)
        self._listening.add(reader)

    def _spawn(self, stdin: FileIO, output: FileIO) -> subprocess.Popen[bytes]:
        launch = self._launch
        try:
            # A session of its own: an interrupt typed at the harness's terminal is the harness's to handle.
            return subprocess.Popen(
                launch.argv,
                stdin=stdin,
                stdout=output,
                stderr=output,
                env=dict(launch.environment),
                cwd=launch.folder,
                pass_fds=launch.descriptors,
                start_new_session=True,
            )
        except OSError as error:
            raise SandboxError(f"{launch.argv[0]} could not be started: {error}.") from error

    def _meet(self, root: int) -> None:
        """The first process inside is known by its number."""
        descriptor = self._exit if root == self._process.pid else open_pidfd(root, self._stack)
        self.handle = Handle(self._process.pid, root, descriptor)

    def _let_go(self) -> None:
        """The walls stand and the first process waits: put the limits on it, then let it run."""
        if self.handle is None:
            raise SandboxError("The sandbox did not say which process is its first.")
        confinement = self._launch.confinement
        if not confinement.holds_limits:
            found = cgroup.hierarchies()
            limits.put_on(self.handle.root, self._job, confinement.overhead, confinement.counts)
            self.group = cgroup.Group(
                found, self._job.limits, overhead=confinement.overhead, freezable=self._stays
            )
            self._stack.callback(self.group.remove)
            self.group.add(self.handle.root)
        self._around = around_this_process()
        self._kills_at_start = self._around.kills()
        self._watcher = Watcher(
            self._job.limits,
            self._written_folders(),
            confinement.tree(self.handle),
            overhead=confinement.overhead,
            memory_folders=confinement.memory_folders(self.handle),
        )
        self._stack.callback(self._watcher.close)
        self._ready = True
        self._started = time.monotonic()
        self._deadline = None if self._stays else self._started + self._job.limits.seconds
        self._pending[:0] = GO
        self._on_ready()

    def _written_folders(self) -> tuple[Path, ...]:
        """Everything on disk that it can write to; the workspace first."""
        mounted = [mount.source for mount in self._job.mounts if mount.writable and mount.source.is_dir()]
        return self._job.workspace, *mounted, *self._launch.counted

    # Running

    def _turn(self) -> None:
        self._feed()
        ready = {descriptor for descriptor, _ in self._poll.poll(self._pause())}
        if self._wake_reader.fileno() in ready:
            self._wake_reader.read(_CHUNK)
        if self._status.fileno() in ready:
            self._read_status()
        if self._control is not None and self._control.fileno() in ready:
            # What was printed before a message must be delivered before it.
            self._drain()
            self._read_control()
        elif self._output.fileno() in ready:
            self._read_output()
        if self._stop_asked and self._stopping_since is None:
            self._stop(self._stop_asked if isinstance(self._stop_asked, LimitReached) else None)
        if self._exit is None:
            self._ended = (
                os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
            )
        elif self._exit in ready:
            self._ended = True
        if not self._ended:
            self._watch(time.monotonic())

    def _pause(self) -> int:
        """Milliseconds until something has to be looked at, rounded up."""
        moments = [self._deadline] if self._deadline else []
        if self._stopping_since is not None:
            moments = [self._stopping_since + _END_SECONDS]
        elif self._watcher and not self.frozen:
            moments.append(self._watcher.next_look)
        pause = min(moments) - time.monotonic() if moments else 60.0
        if self._exit is None:
            pause = min(pause, _WITHOUT_PIDFD)
        return max(0, int(pause * 1000) + 1)

    def _watch(self, now: float) -> None:
        if self._stopping_since is not None:
            if now > self._stopping_since + _END_SECONDS:
                self._kill()
            return
        if self._deadline and now >= self._deadline:
            self._stop(LimitReached("time", self._job.limits.seconds) if self._ready else None)
        elif self._watcher and not self.frozen and now >= self._watcher.next_look:
            # The kernel's own word first: a program with many processes makes it slow to look at each of them.
            reached = (self.group.reached() if self.group else None) or self._watcher.look(now)
            if reached:
                self._stop(reached)

    def _stop(self, limit: LimitReached | None) -> None:
        self._limit = self._limit or limit
        self._stopping_since = time.monotonic()
        if self._watcher:
            self._watcher.note_time()
        if self.handle is None:
            self._kill()
        else:
            self._launch.confinement.end(self.handle)

    def _feed(self) -> None:
        """Give it what its standard input still lacks, and close that when there will be no more."""
        if not self._ready or self._stdin.closed:
            return
        descriptor = self._stdin.fileno()
        try:
            while self._pending:
                written = os.write(descriptor, self._pending[:_CHUNK])
                del self._pending[:written]
        except BlockingIOError:
            self._poll.register(descriptor, select.POLLOUT)
            self._waits_to_write = True
            return
        except BrokenPipeError:
            self._pending.clear()
        if self._waits_to_write:
            self._poll.unregister(descriptor)
            self._waits_to_write = False
        if not self._on_message:
            self._stdin.close()

    def _read_status(self) -> None:
        self._told.feed(self._read(self._status))
        if self._told.root is not None and self.handle is None:
            self._meet(self._told.root)

    def _read_output(self) -> bool:
        """One chunk; False when there is nothing more for now."""
        chunk = self._read(self._output)
        if not self._ready and chunk:
            self._own_words += chunk
            before, mark, chunk = self._own_words.partition(READY)
            if mark:
                self._own_words = before
                self._read_status()
                self._let_go()
        if chunk:
            room = self._job.limits.output - self._written
            self._written += len(chunk)
            if room > 0 and self._ready:
                self._on_output(chunk[:room])
            if len(chunk) > room and self._stopping_since is None:
                self._stop(LimitReached("output", self._job.limits.output))
            return True
        return False

    def _read_control(self) -> None:
        assert self._control is not None and self._on_message is not None
        self._message += self._read(self._control)
        *lines, rest = bytes(self._message).split(b"\n")
        self._message = bytearray(rest)
        for line in lines:
            self._on_message(line)
        if len(rest) > self._job.limits.output and self._stopping_since is None:
            self._stop(LimitReached("output", self._job.limits.output))

    def _read(self, reader: FileIO) -> bytes:
        """What is there; at the end of it, listens no more."""
        chunk = reader.read(_CHUNK)
        if chunk == b"" and reader in self._listening:
            self._listening.remove(reader)
            self._poll.unregister(reader.fileno())
        return chunk or b""

    def _drain(self) -> None:
        while self._read_output():
            pass

    # Ending

    def _kill(self) -> None:
        """End the outer process, which is not reaped yet. Popen would take its exit status away from `_reap`."""
        os.kill(self._process.pid, signal.SIGKILL)

    def _reap(self) -> None:
        """Wait for the outer process; make sure that nothing is left behind it."""
        if not self._ended and self._stopping_since is None:
            self._stop(None)
        self._stdin.close()
        if not self._ended and self._exit is not None and not wait_readable(self._exit, _END_SECONDS):
            self._kill()
        _, status, usage = os.wait4(self._process.pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        self._reaped = outcome.Reaped(status, usage)
        self._wall = time.monotonic() - self._started
        if self.group:
            self.group.kill()
        if self.handle:
            self._launch.confinement.end(self.handle)
            root = self.handle.root_descriptor
            if root is not None and root != self._exit:
                wait_readable(root, _END_SECONDS)

    def _drain_all(self) -> None:
        self._drain()
        self._read_status()
        if self._control is not None:
            self._read_control()

    def _result(self) -> Result:
        engine_limit = self._launch.confinement.finish()
        if self._watcher is None:
            words = self._own_words.decode(errors="replace").strip() or "it ended without a word"
            raise outcome.SetupFailedError(words)
        exit_status, number = outcome.ending(self._told, self._reaped, self._launch)
        limit = self._limit or (self.group.reached() if self.group else None)
        if engine_limit == "memory":
            limit = limit or LimitReached("memory", self._job.limits.memory)
        if number == signal.SIGKILL and self._around.kills() > self._kills_at_start:
            limit = limit or cgroup.shared_limit(self._around, self._job.limits)
        if number == signal.SIGXFSZ:
            limit = limit or LimitReached("disk", self._job.limits.disk)
        return Result(
            exit_status=exit_status,
            signal=number,
            limit=limit or self._watcher.look_at_end(),
            wall_seconds=self._wall,
            cpu_seconds=outcome.cpu_seconds(self._told, self._reaped, self._watcher),
            peak_memory=outcome.peak_memory(self._told, self._reaped, self._watcher, self._own_peak),
            output_bytes=self._written,
        )
