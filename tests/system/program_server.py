"""A process that has imported all of periplus once and forks for every `periplus ...` command of the tests.

Importing takes longer than most commands do. `typed.Program` starts this file as a script, with one end of a socket; a
request brings arguments, folder, environment and file descriptors, the three standard streams first. The program is not
a child of this process: a process between them ends at once, and so the one that asked, which is a subreaper at that
moment, becomes its parent. It waits for the program, sends it signals and reads its exit code as of any child.

The processes that `multiprocessing` would execute, in a program that is forked here, are forked, too (`spawn`).
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import multiprocessing.util
import os
import pkgutil
import runpy
import signal
import socket
import struct
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing import forkserver, process, resource_tracker
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

LENGTH = struct.Struct("!I")
"""How a message begins: the bytes that follow."""

MAX_DESCRIPTORS = 16
"""File descriptors with a request: stdin, stdout, stderr and some that `multiprocessing` passes on."""

LAZY = (
    "anyio.streams.memory",
    "duckdb",
    "encodings.idna",
    "lmdb",
    "lxml.etree",
    "lxml.html",
    "multiprocessing.forkserver",
    "multiprocessing.popen_forkserver",
    "multiprocessing.popen_spawn_posix",
    "pyarrow.compute",
    "pyarrow.dataset",
    "pyarrow.parquet",
    "rich._emoji_codes",
    "rich.live",
    "rich.progress",
    "rich.table",
    "uvicorn.lifespan.on",
)
"""Modules of others that commands import while they run."""

UNWANTED = ("periplus_lab.pytest_plugin", "periplus_lab.simulate")
"""Not imported: what only some tests of the lab need."""


def preload() -> None:
    """Import whatever a command may need; extras that are not installed are left out."""
    packages = [
        importlib.import_module(name) for name in ("periplus", "periplus_lab", "periplus_sites", "periplus_urlfrontier")
    ]
    found = (
        module.name
        for package in packages
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.", onerror=lambda _: None)
    )
    for name in (*found, *LAZY):
        if not name.startswith(UNWANTED) and not name.endswith("__main__"):
            try:
                importlib.import_module(name)
            except ImportError:
                continue
    gc.collect()
    gc.freeze()  # what is shared by all programs is not copied when one of them collects garbage


def serve(connection: socket.socket) -> dict[str, Any] | None:
    """Fork for every request. Return what to do in a program, and None in the server when no more is asked."""
    while True:
        head, descriptors, _, _ = socket.recv_fds(connection, LENGTH.size, MAX_DESCRIPTORS)
        if not head:
            return None
        body = bytearray()
        [size] = LENGTH.unpack(head)
        while len(body) < size:
            body += connection.recv(size - len(body))
        reading, writing = os.pipe()
        between = os.fork()
        if not between:
            if os.fork():
                os._exit(0)
            os.close(reading)
            connection.close()
            return {**json.loads(body), "descriptors": descriptors, "ready": writing}
        os.close(writing)
        for descriptor in descriptors:
            os.close(descriptor)
        os.waitpid(between, 0)
        connection.sendall(os.read(reading, LENGTH.size).ljust(LENGTH.size, b"\0"))
        os.close(reading)


def become(asked: dict[str, Any]) -> None:
    """Make this process what `exec` would have made: its descriptors, folder, environment and signals."""
    high = [os.dup(descriptor) for descriptor in (*asked["descriptors"], asked["ready"])]
    while min(high) <= max(asked["numbers"]):
        high = [os.dup(descriptor) for descriptor in high]
    os.closerange(3, min(high))
    ready = high.pop()
    for number, descriptor in zip(asked["numbers"], high, strict=True):
        os.dup2(descriptor, number)
        os.close(descriptor)
    if asked["start_new_session"]:
        os.setsid()
    if asked["process_group"] >= 0:
        os.setpgid(0, asked["process_group"])
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["env"])
    time.tzset()
    sys.path.remove(str(Path(__file__).parent))
    _open_streams()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, asked["blocked"])
    os.write(ready, LENGTH.pack(os.getpid()))
    os.close(ready)


def _open_streams() -> None:
    """Open stdin, stdout and stderr as the interpreter does."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        old, mode, buffering = getattr(sys, f"__{name}__"), "w" if number else "r", 1 if name == "stderr" else -1
        new = os.fdopen(number, mode, buffering, encoding=old.encoding, errors=old.errors, closefd=False)
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)


def perform(work: Callable[[], object]) -> NoReturn:
    """Do it, and then what an interpreter does at its end but for taking itself apart."""
    try:
        work()
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def run_program(args: Sequence[str]) -> None:
    """Run `periplus ARGS`."""
    sys.argv = ["periplus", *args]
    runpy.run_module("periplus", run_name="__main__", alter_sys=True)


def run_code(code: str, args: Sequence[str]) -> None:
    """Run `python -c CODE ARGS`."""
    sys.argv = ["-c", *args]
    sys.modules["__main__"] = ModuleType("__main__")
    exec(code, sys.modules["__main__"].__dict__)


def spawn(path: bytes, args: Sequence[Any], passfds: Sequence[Any]) -> int:
    """Fork what `multiprocessing.util.spawnv_passfds` would execute: `python [FLAGS] -c CODE [ARGS]`."""
    del path
    place = list(args).index("-c")
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        return pid
    perform(lambda: _run_forked(list(args), place, {0, 1, 2, *map(int, passfds)}))


def _run_forked(args: list[str], place: int, kept: set[int]) -> None:
    """Be the process that `exec` would have made of this copy of its parent, but for what is imported."""
    gc.freeze()  # files of the parent must not be closed when they are forgotten: their numbers are used again
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    signal.set_wakeup_fd(-1)
    numbers = sorted(kept)
    for low, high in zip(numbers, [*numbers[1:], os.sysconf("SC_OPEN_MAX")], strict=True):
        os.closerange(low + 1, high)
    _open_streams()
    _forget_parent()
    run_code(args[place + 1], args[place + 2 :])


def _forget_parent() -> None:
    """Bring modules that know of processes and threads to where they are after an import.

    What they knew is never destroyed: it would close files that are others by now.
    """
    atexit._clear()
    known = [multiprocessing.util._finalizer_registry, process._children]  # type: ignore[attr-defined]
    for name, registry in (("process", "_threads_wakeups"), ("thread", "_threads_queues")):
        if (module := sys.modules.get(f"concurrent.futures.{name}")) is not None:
            known.append(getattr(module, registry))
    for values in known:
        _of_parents.append(values.copy())
        values.clear()
    _of_parents.append(process._current_process)  # type: ignore[attr-defined]
    process._current_process = _main_process()  # type: ignore[attr-defined]
    process._parent_process = None  # type: ignore[attr-defined]
    forkserver._forkserver.__init__()  # type: ignore[misc]
    resource_tracker._resource_tracker.__init__()  # type: ignore[misc]


_of_parents: list[object] = [sys.modules[__name__]]
_main_process = type(process.current_process())


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the tests
    multiprocessing.util.spawnv_passfds = spawn
    with socket.socket(fileno=int(sys.argv[1])) as served:
        preload()
        asked = serve(served)
    if asked is None:
        os._exit(0)
    become(asked)
    code, args = asked["code"], asked["args"]
    perform(lambda: run_program(args) if code is None else run_code(code, args))
