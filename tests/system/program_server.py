"""A process that has imported all of periplus once and forks for every `periplus ...` command of the tests.

Importing takes longer than most commands do. `typed.Program` starts this file as a script, with one end of a socket; a
request brings arguments, folder, environment and the three standard streams. The program is not a child of this
process: a process between them ends at once, and so the one that asked, which is a subreaper at that moment, becomes
its parent. It waits for the program, sends it signals and reads its exit code as of any child.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
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
from pathlib import Path
from typing import Any

LENGTH = struct.Struct("!I")
"""How a message begins: the bytes that follow."""

STREAMS = 3
"""File descriptors with each request: stdin, stdout and stderr."""

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
    "pydantic.type_adapter",
    "rich._emoji_codes",
    "rich.live",
    "rich.progress",
    "rich.table",
    "typer._adapters",
    "typer.rich_utils",
    "uvicorn.lifespan.on",
)
"""Modules of others that commands import while they run."""

UNWANTED = ("periplus.cluster", "periplus.lab.pytest_plugin", "periplus.lab.simulate")
"""Not imported: Ray with its threads, and what only some tests of the lab need."""


def preload() -> None:
    """Import whatever a command may need; extras that are not installed are left out."""
    periplus = importlib.import_module("periplus")
    found = (module.name for module in pkgutil.walk_packages(periplus.__path__, "periplus.", onerror=lambda _: None))
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
        head, streams, _, _ = socket.recv_fds(connection, LENGTH.size, STREAMS)
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
            return {**json.loads(body), "streams": streams, "ready": writing}
        os.close(writing)
        for descriptor in streams:
            os.close(descriptor)
        os.waitpid(between, 0)
        connection.sendall(os.read(reading, LENGTH.size).ljust(LENGTH.size, b"\0"))
        os.close(reading)


def become(asked: dict[str, Any]) -> None:
    """Make this process what `exec` would have made: its streams, folder, environment, arguments and signals."""
    for number, descriptor in enumerate(asked["streams"]):
        os.dup2(descriptor, number)
        os.close(descriptor)
    if asked["start_new_session"]:
        os.setsid()
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["env"])
    time.tzset()
    sys.argv = ["periplus", *asked["args"]]
    sys.path.remove(str(Path(__file__).parent))
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        old, mode, buffering = getattr(sys, name), "w" if number else "r", 1 if name == "stderr" else -1
        new = os.fdopen(number, mode, buffering, encoding=old.encoding, errors=old.errors, closefd=False)
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.write(asked["ready"], LENGTH.pack(os.getpid()))
    os.close(asked["ready"])


def perform() -> int:
    """Run the program, and what an interpreter does at its end but for taking itself apart; its exit code."""
    try:
        runpy.run_module("periplus", run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return code


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the tests
    with socket.socket(fileno=int(sys.argv[1])) as served:
        preload()
        asked = serve(served)
    if asked is not None:
        become(asked)
        os._exit(perform())
    os._exit(0)
