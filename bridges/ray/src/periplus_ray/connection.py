"""Connects to a Ray cluster, or starts one, with as little output from Ray as possible, and disconnects again."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import ModuleType

from periplus.model import UsageError

LOCAL, AUTO = "local", "auto"
LOOPBACK = "127.0.0.1"
_PATIENCE = 10.0
_HINT = "ray start --head begins one here; --cluster local needs none"
_LET_IN = "RAY_AUTH_MODE=token shows the token in your home folder, if it wants one; or it may be of another version"
_PREFACE, _SETTINGS = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 4
_NO_SETTINGS = bytes([0, 0, 0, _SETTINGS, 0, 0, 0, 0, 0])
_STORE = 256 * 2**20
"""Bytes of the object store of a cluster that we start: batches are small."""


def load() -> ModuleType:
    """Ray, if it is installed."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        raise UsageError("Ray is not installed", hint="pip install periplus-ray") from error
    loaded: ModuleType = ray
    return loaded


@contextmanager
def connected(address: str, cpus: int = 0) -> Iterator[ModuleType]:
    """Ray, connected to a running cluster, or to one that is started here and stopped after.

    One that is started here has `cpus` processors. A process that is connected already stays so, whatever the address.
    """
    ray = load()
    if ray.is_initialized():
        yield ray
        return
    _connect(ray, address, cpus)
    try:
        yield ray
    finally:
        ray.shutdown()


def _connect(ray: ModuleType, address: str, cpus: int) -> None:
    _check(address)
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    try:
        if address == LOCAL:
            ray.init(
                address=LOCAL,
                num_cpus=cpus or None,
                include_dashboard=False,
                object_store_memory=_STORE,
                _node_ip_address=LOOPBACK,
                **quiet,
            )
        else:
            ray.init(address=address, **quiet)
    except (ConnectionError, ValueError, RuntimeError) as error:
        reason = str(error).splitlines()[0]
        if address in (LOCAL, AUTO):
            raise UsageError(f"there is no cluster: {reason}", hint=_HINT) from error
        raise UsageError(f"the cluster at {address} refused the connection: {reason}", hint=_LET_IN) from error
    with suppress(AttributeError):  # it prints the deaths of workers to stdout, where programs read
        ray._private.worker._worker_logs_enabled = False


def _check(address: str) -> None:
    """Fail early: Ray tries for minutes to reach an address where nothing, or something else, answers."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not (colon and port.isdecimal()):
        return
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=_PATIENCE) as connection:
            is_understood = os.environ.get("RAY_USE_TLS", "0") not in ("", "0") or _is_understood(connection)
    except OSError as error:
        raise UsageError(f"no cluster answers at {address}: {error}", hint=_HINT) from error
    if not is_understood:
        raise UsageError(f"the service at {address} is not Ray", hint=_HINT)


def _is_understood(connection: socket.socket) -> bool:
    """Whether the other end supports HTTP/2, as Ray's calls need (RFC 9113 3.4: each side begins with its settings)."""
    connection.sendall(_PREFACE + _NO_SETTINGS)
    answer = b""
    with suppress(ConnectionError):
        while len(answer) < len(_NO_SETTINGS) and (some := connection.recv(len(_NO_SETTINGS) - len(answer))):
            answer += some
    return len(answer) == len(_NO_SETTINGS) and answer[3] == _SETTINGS


def processors(ray: ModuleType) -> int:
    """The number of processors of the cluster."""
    return int(ray.cluster_resources().get("CPU", 0))
