"""A network of the trial's own: every address is the lab's, every name is looked up there, and nothing leaves it.

Made of Linux namespaces (network, mounts, processes), which need no privilege where the system lets users make them.
All IPv4 and IPv6 addresses are routed to the loopback device, so that a site can be at a public address, and a private
address has something to hide. When the first process ends, all that the crawler started ends with it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from functools import cache
from pathlib import Path

_NAMESPACES = ("--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
_UP = "ip link set lo up && ip route replace local 0.0.0.0/0 dev lo && ip -6 route replace local ::/0 dev lo"


@cache
def entrance() -> tuple[str, ...]:
    """The words in front of a command that runs it in an enclosure; none if this machine cannot make one."""
    if any(shutil.which(name) is None for name in ("unshare", "ip", "mount")):
        return ()
    for words in (("unshare", "--user", "--map-root-user", *_NAMESPACES), ("unshare", *_NAMESPACES)):
        script = f"{_UP} && mount --bind /dev/null /etc/resolv.conf"
        tried = subprocess.run([*words, "sh", "-c", script], capture_output=True, check=False)  # noqa: S603
        if tried.returncode == 0:
            return words
    return ()


WHY_NOT = (
    "this machine lets no program make a network of its own: it takes Linux, the commands unshare and ip, and the"
    " right to make user namespaces (or root)"
)


def furnish(folder: Path) -> None:
    """Inside a new enclosure: take all addresses, and send every question about names to 127.0.0.1."""
    _sh(_UP)
    servers = folder / "resolv.conf"
    servers.write_text("nameserver 127.0.0.1\noptions timeout:2 attempts:2\n")
    _sh(f"mount --bind {servers} {Path('/etc/resolv.conf').resolve()}")


def limit_disk(folder: Path, size: int, *, is_again: bool = False, is_read_only: bool = False) -> None:
    """Inside an enclosure: let a folder hold `size` bytes and no more. `is_again`: change that, and keep its files."""
    access = "ro" if is_read_only else "rw"
    _sh(f"mount {'-o remount,' if is_again else '-t tmpfs -o '}{access},size={size} tmpfs {folder}")


def lose_network(seconds: float) -> None:
    """Inside an enclosure: let nothing through for a while."""
    _sh("ip link set lo down")
    time.sleep(seconds)
    _sh(_UP)


def lose_address(address: str, seconds: float) -> None:
    """Inside an enclosure: let an address be out of reach for a while."""
    _sh(f"ip route add unreachable {address} table local")
    time.sleep(seconds)
    _sh(f"ip route del unreachable {address} table local")


def _sh(script: str) -> None:
    subprocess.run(["sh", "-ec", script], check=True, capture_output=True, env=os.environ | {"LC_ALL": "C"})  # noqa: S603, S607
