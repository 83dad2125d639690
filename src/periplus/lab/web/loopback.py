"""Sockets that only this machine can reach, on the whole of 127.0.0.0/8 where the system allows it.

The world gives each site an address of its own there, so that politeness by address can be seen. Linux answers on all
of them; one socket that is bound to the loopback device, and so deaf to the network, serves them all. Elsewhere the lab
is at 127.0.0.1 alone.
"""

from __future__ import annotations

import contextlib
import socket

from periplus.model import UsageError

HOME = "127.0.0.1"
_EVERYWHERE = ""
_DEVICE = b"lo"


def open_loopback(port: int) -> tuple[socket.socket, bool]:
    """A socket bound to `port` (0: any), and whether every address of 127.0.0.0/8 leads to it."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        is_wide = _bind_to_device(sock)
        sock.bind((_EVERYWHERE if is_wide else HOME, port))
    except OSError as error:
        sock.close()
        raise UsageError(f"cannot listen on port {port}: {error.strerror}", hint="Try --port 0") from error
    return sock, is_wide


def _bind_to_device(sock: socket.socket) -> bool:
    option: int | None = getattr(socket, "SO_BINDTODEVICE", None)
    with contextlib.suppress(OSError):
        if option is not None:
            sock.setsockopt(socket.SOL_SOCKET, option, _DEVICE)
            return True
    return False
