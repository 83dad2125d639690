"""Machines that are not there: each node of Ray in namespaces of its own, with an address of its own on a bridge.

A machine sees its own network, its own processes, and its own disk under one path that all of them have; the rest of
the files they share. The first of them is the head: the bridge is there, and so is the command that crawls. Nothing of
this is seen outside, and nothing can be left behind: a machine ends, with everything in it, when its standard input
does, and what was made for it ends with it.

The lab stands in every machine, at the same address on its loopback: whatever is cut off, the web is still there.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path

from msgspec import Struct
from tests.system.raylets import ROOT, STORE, children_of, command_of

from periplus_lab import World
from periplus_lab.log import RequestLog
from periplus_lab.server import RunningLab, Server, SteppedClock

PORT, LAB_PORT = 6379, 8000
NETWORK = "10.213.0"
HEAD = f"{NETWORK}.1"
ENVIRONMENT = {
    "RAY_worker_niceness": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "disabled",  # said, since Ray goes by what lies at home otherwise; this network is private
    "PYTHONPATH": str(ROOT),
}
UNSHARE = ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]


@cache
def why_not() -> str:
    """Why there can be no machines here; empty if there can."""
    missing = [name for name in ("ip", "unshare", "nsenter", "mount") if shutil.which(name) is None]
    if missing:
        return f"there is no {', '.join(missing)}"
    script = "ip link add name a type bridge && ip link add name b type veth peer name c && mount --bind /tmp /tmp"
    tried = subprocess.run([*UNSHARE, "sh", "-c", script], capture_output=True, text=True, check=False)
    return "" if tried.returncode == 0 else f"no namespaces: {tried.stderr.strip()}"


class Machine:
    """A node of Ray that thinks it is alone. `disk` is its own, wherever the others see theirs."""

    def __init__(self, number: int, folder: Path, processors: int, environment: dict[str, str]) -> None:
        self.number = number
        self.address = f"{NETWORK}.{number + 1}"
        self.log = RequestLog()
        self.disk = folder.with_name(f"{folder.name}-{number}")
        self.disk.mkdir()
        command = [
            sys.executable,
            "-m",
            "tests.system.namespaces",
            str(number),
            str(processors),
            str(folder),
            str(self.disk),
        ]
        self._host = subprocess.Popen(
            [*UNSHARE, *command], cwd=ROOT, env=os.environ | environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        self._hear("here")
        self.root = children_of(self._host.pid)[0]

    def _hear(self, word: str) -> None:
        assert self._host.stdout is not None
        said = self._host.stdout.readline().strip()
        assert said == word, said

    def begin(self) -> None:
        """Its network is there: begin its node."""
        assert self._host.stdin is not None
        self._host.stdin.write("go\n")
        self._host.stdin.flush()
        self._hear("begun")

    def end(self) -> None:
        """It is gone, with everything that ran there."""
        self._host.kill()
        self._host.communicate()

    def inside(self, *command: str) -> list[str]:
        """A command, as it is typed on this machine."""
        return ["nsenter", "--target", str(self.root), "--net", "--pid", "--mount", *command]

    def run(self, *command: str) -> None:
        """Do that, there."""
        subprocess.run(self.inside(*command), check=True, capture_output=True)

    def processes(self, name: str) -> list[int]:
        """Those of this name, as numbered outside."""
        found, left = [], [self.root]
        while left:
            left += (children := children_of(left.pop()))
            found += [child for child in children if command_of(child).startswith(name)]
        return found

    def raylets(self) -> list[int]:
        """The process of Ray's that runs the others."""
        return [process for process in self.processes("/") if Path(command_of(process).split("\0")[0]).name == "raylet"]

    def shards(self) -> list[int]:
        """The processes of shards."""
        return self.processes("ray::ShardActor")

    def coordinators(self) -> list[int]:
        """The process of the coordinator, if it is here."""
        return self.processes("ray::CoordinatorActor")

    @contextmanager
    def lab(self, world: World) -> Iterator[RunningLab]:
        """The lab, as this machine sees it: its sockets are here, and its log is this machine's."""
        server = Server(world, SteppedClock(world.epoch), self.log, port=LAB_PORT, pace=0.01)

        def start() -> RunningLab:  # threads are begun in the network of the thread that begins them
            _enter_network(self.root)
            return RunningLab(server).__enter__()

        with ThreadPoolExecutor(1) as elsewhere:
            running = elsewhere.submit(start).result()
        try:
            yield running
        finally:
            running.__exit__(None, None, None)


def _enter_network(process: int) -> None:
    """For this thread alone, and the threads that it begins."""
    with Path(f"/proc/{process}/ns/net").open() as network:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.setns(network.fileno(), 0x40000000):
            raise OSError(ctypes.get_errno(), "setns")


class Machines(Struct, frozen=True):
    """The head, and those that have processors."""

    head: Machine
    others: list[Machine]
    world: World
    proxy: str = f"http://127.0.0.1:{LAB_PORT}/"
    address: str = f"{HEAD}:{PORT}"

    def coordinators(self) -> list[int]:
        """The process of the coordinator, wherever it is."""
        return [process for each in (self.head, *self.others) for process in each.coordinators()]

    def cut_off(self, some: Iterable[Machine]) -> None:
        """No word goes from these to any other, nor back; they hear each other."""
        for machine in some:
            self.head.run("ip", "link", "set", f"to{machine.number}", "master", "island")

    def reconnect(self) -> None:
        """All are in one network again."""
        for machine in self.others:
            self.head.run("ip", "link", "set", f"to{machine.number}", "master", "bridge")

    def seen(self) -> RequestLog:
        """Every request to the lab, wherever it came from, in order."""
        log = RequestLog()
        visits = [visit for machine in self.others for visit in machine.log.visits()]
        for visit in sorted(visits, key=lambda visit: visit.real_started_at):
            log.note(visit)
        return log

    def forget(self) -> None:
        """Count only what follows."""
        for machine in self.others:
            machine.log.clear()


@contextmanager
def machines(count: int, processors: int, folder: Path, world: World, **environment: str) -> Iterator[Machines]:
    """Machines with processors, and the head; `folder` is where each has its disk."""
    with ExitStack() as stack:
        numbers = range(count + 1)
        folder.mkdir()
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        environment = ENVIRONMENT | environment
        found = []
        for number in numbers:
            machine = Machine(number, folder, processors if number else 0, environment)
            stack.callback(shutil.rmtree, machine.disk, ignore_errors=True)
            stack.callback(machine.end)
            found.append(machine)
        head, *others = found
        _connect(head, others)
        head.begin()
        with ThreadPoolExecutor(count) as together:
            list(together.map(Machine.begin, others))
        for machine in others:
            stack.enter_context(machine.lab(world))
        yield Machines(head, others, world)


def _connect(head: Machine, others: list[Machine]) -> None:
    """Two bridges at the head, which is on one of them, as is a cable from each of the others."""
    for bridge in ("bridge", "island"):
        head.run("ip", "link", "add", "name", bridge, "type", "bridge")
        head.run("ip", "link", "set", bridge, "up")
    head.run("ip", "address", "add", f"{HEAD}/24", "dev", "bridge")
    for machine in others:
        port = f"to{machine.number}"
        cable = ["ip", "link", "add", "name", port, "type", "veth", "peer", "name", "cable", "netns", str(machine.root)]
        subprocess.run(["nsenter", "--target", str(head.root), "--net", *cable], check=True, capture_output=True)
        head.run("ip", "link", "set", port, "master", "bridge", "up")
        machine.run("ip", "address", "add", f"{machine.address}/24", "dev", "cable")
        machine.run("ip", "link", "set", "cable", "up")


def main(number: int, processors: int, folder: str, own: str) -> None:
    """Be a machine: the first process there, with whose end everything ends."""
    subprocess.run(["mount", "--bind", own, folder], check=True)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    say("here")
    sys.stdin.readline()
    address = f"{NETWORK}.{number + 1}"
    where = ["--head", f"--port={PORT}", "--include-dashboard=false"] if number == 0 else [f"--address={HEAD}:{PORT}"]
    where += [f"--node-ip-address={address}", f"--num-cpus={processors}", f"--object-store-memory={STORE}"]
    if number == 0:
        where.append(f"--temp-dir={folder}")
    begun = subprocess.run(
        [sys.executable, "-m", "ray.scripts.scripts", "start", *where, "--disable-usage-stats"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # of processes that end nothing is left
    say("begun" if begun.returncode == 0 else repr(begun.stdout + begun.stderr))
    sys.stdin.read()


def say(word: str) -> None:
    """To the parent process."""
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4])
