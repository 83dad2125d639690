"""The program as people type it, in this process or in one of its own, and what it said."""

from __future__ import annotations

import atexit
import ctypes
import inspect
import json
import multiprocessing.util
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from tests.system.program_server import LENGTH

PROGRAM = [sys.executable, "-m", "periplus"]
SERVER = Path(__file__).with_name("program_server.py")
SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of prctl(2)."""
ORDINARY = {"executable", "preexec_fn", "pass_fds", "shell", "gid", "gids", "uid"}
"""Options of a process which only `exec` has."""
READ_AT_START = ("PYTHON", "LC_", "LANG", "PERIPLUS_", "OPENBLAS_")
"""Beginnings of the variables that the interpreter, or a module when it is imported, reads."""


class Said(NamedTuple):
    """What a command printed, and how it ended."""

    returncode: int
    stdout: str
    stderr: str


Run = Callable[..., Said]


class Program(subprocess.Popen[Any]):
    """`periplus ARGS` as a process, with the options of `subprocess.Popen`; it is forked where it can be."""

    def __init__(self, *args: str, **options: Any) -> None:
        super().__init__([*PROGRAM, *args], **options)

    def _execute_child(self, *values: Any) -> None:
        """Fork the program, or execute it if it asks for what a fork does not have."""
        asked = inspect.signature(super()._execute_child).bind(*values).arguments  # type: ignore[misc]
        environment = dict(os.environ if asked["env"] is None else asked["env"])
        if not _can_fork(asked, environment):
            super()._execute_child(*values)  # type: ignore[misc]
            return
        streams = enumerate((asked["p2cread"], asked["c2pwrite"], asked["errwrite"]))
        self.pid = _fork_server().start(
            {number: number if stream == -1 else stream for number, stream in streams},
            args=asked["args"][len(PROGRAM) :],
            cwd=os.fspath(asked["cwd"] or Path.cwd()),
            env=environment,
            start_new_session=asked["start_new_session"],
            process_group=asked["process_group"],
        )
        self._child_created = True
        pipes = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
        self._close_pipe_fds(*(asked[pipe] for pipe in pipes))  # type: ignore[attr-defined]


def run_program(*args: str, stdin: str | bytes | None = None, **options: Any) -> subprocess.CompletedProcess[Any]:
    """`periplus ARGS` to its end, in a process of its own; what it printed is text if `text` is asked for."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    if stdin is not None:
        options["stdin"] = subprocess.PIPE
    timeout = options.pop("timeout", 600)
    with Program(*args, **options) as process:
        try:
            said = process.communicate(stdin, timeout)
        finally:
            process.kill()
    return subprocess.CompletedProcess(["periplus", *args], process.returncode, *said)


@contextmanager
def running(*args: str) -> Iterator[subprocess.Popen[str]]:
    """The program in a process of its own, with all its children; those left when the block ends are killed."""
    with Program(*args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def wait_until(is_so: Callable[[], bool], process: subprocess.Popen[str], patience: float = 600.0) -> None:
    """Wait for what a process does, as long as it lives."""
    give_up = time.monotonic() + patience
    while not is_so():
        assert time.monotonic() < give_up, f"nothing happened for {patience:.0f} seconds"
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)


class _ForkServer:
    """The process that forks for us (`program_server`)."""

    def __init__(self) -> None:
        self.environment = _read_at_start(os.environ)
        self._library = ctypes.CDLL(None)
        self._lock = threading.Lock()
        self._connection, other = socket.socketpair()
        with other:
            self._process = subprocess.Popen(
                [sys.executable, str(SERVER), str(other.fileno())], pass_fds=[other.fileno()], stdin=subprocess.DEVNULL
            )
        atexit.register(self._end)

    def start(self, descriptors: Mapping[int, int], *, code: str | None = None, **asked: Any) -> int:
        """Start a program, or code, and become its parent; its process id.

        `descriptors` are those of ours that it gets, each under the number by which it knows it.
        """
        inherited = {"blocked": [int(number) for number in signal.pthread_sigmask(signal.SIG_BLOCK, ())]}
        defaults = {"start_new_session": False, "process_group": -1}
        body = json.dumps({**inherited, **defaults, **asked, "code": code, "numbers": list(descriptors)}).encode()
        with self._lock:
            self._library.prctl(SUBREAPER, 1, 0, 0, 0)
            try:
                socket.send_fds(self._connection, [LENGTH.pack(len(body))], list(descriptors.values()))
                self._connection.sendall(body)
                answer = self._connection.recv(LENGTH.size, socket.MSG_WAITALL)
            finally:
                self._library.prctl(SUBREAPER, 0, 0, 0, 0)
        [pid] = LENGTH.unpack(answer)
        assert pid, f"the program did not start: {asked['args']} in {asked['cwd']}"
        return int(pid)

    def _end(self) -> None:
        self._connection.close()
        self._process.wait()


def fork_for_multiprocessing() -> None:
    """Let the fork server start what `multiprocessing` would execute in this process."""
    execute = multiprocessing.util.spawnv_passfds

    def start(path: bytes, args: Sequence[Any], passfds: Sequence[Any]) -> int:
        if not _can_fork({}, os.environ):
            return execute(path, args, passfds)
        place = list(args).index("-c")
        passed = {int(number): int(number) for number in (0, 1, 2, *passfds)}
        told = {"cwd": os.fspath(Path.cwd()), "env": dict(os.environ)}
        return _fork_server().start(passed, code=args[place + 1], args=args[place + 2 :], **told)

    multiprocessing.util.spawnv_passfds = start


@cache
def _fork_server() -> _ForkServer:
    """One for all tests of this process."""
    return _ForkServer()


def _can_fork(asked: Mapping[str, Any], environment: Mapping[str, str]) -> bool:
    """Whether a fork differs in nothing from what `exec` would start."""
    if sys.platform != "linux" or any(asked.get(option) not in (None, -1, (), False) for option in ORDINARY):
        return False
    return _read_at_start(environment) == _fork_server().environment


def _read_at_start(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(READ_AT_START)}
