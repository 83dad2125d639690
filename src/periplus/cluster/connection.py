"""To a cluster and back: Ray, found or started, and spoken to as quietly as it lets us."""

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
_STORE = 256 * 2**20
"""Bytes of the object store of a cluster that we start: batches are small."""


def load() -> ModuleType:
    """Ray, if it is installed."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        raise UsageError("Ray is not installed", hint="pip install 'periplus[ray]'") from error
    loaded: ModuleType = ray
    return loaded


@contextmanager
def connected(address: str, cpus: int = 0) -> Iterator[ModuleType]:
    """Ray, connected: to a cluster that is there, or to one that is begun here with so many processors and ended after.

    A process that is connected already stays so, whatever the address.
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
        raise UsageError(f"there is no cluster at {address}: {str(error).splitlines()[0]}", hint=_HINT) from error
    with suppress(AttributeError):  # it prints the deaths of workers to stdout, where programs read
        ray._private.worker._worker_logs_enabled = False


def _check(address: str) -> None:
    """Ray tries for minutes to reach somebody who is not there."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not (colon and port.isdecimal()):
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_PATIENCE).close()
    except OSError as error:
        raise UsageError(f"nobody answers at {address}: {error}", hint=_HINT) from error


def processors(ray: ModuleType) -> int:
    """How many the cluster has."""
    return int(ray.cluster_resources().get("CPU", 0))
