"""A bucket of a real object store, mounted as a folder: moto's S3 server and s3fs, both of this machine."""

from __future__ import annotations

import http.client
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PATIENCE = 60
"""Seconds for the server to listen."""


def why_not() -> str:
    """Why no bucket can be mounted here; empty if one can."""
    missing = [name for name in ("moto_server", "s3fs", "umount") if shutil.which(name) is None]
    if not Path("/dev/fuse").exists():
        missing.append("/dev/fuse")
    return f"there is no {', '.join(missing)}" if missing else ""


class Bucket:
    """A bucket that is mounted at `path`, by one machine after another."""

    def __init__(self, folder: Path, port: int) -> None:
        self.path = folder / "bucket"
        self._port = port
        self._keys = folder / "keys"
        self._keys.write_text("access:secret")
        self._keys.chmod(0o600)
        self.path.mkdir()

    def mount(self) -> None:
        """A machine sees what the store has, and nothing that another machine kept back."""
        options = f"passwd_file={self._keys},url=http://127.0.0.1:{self._port},use_path_request_style"
        subprocess.run(["s3fs", "crawls", self.path, "-o", options], check=True)

    def unmount(self) -> None:
        """The machine is gone, with what it had not sent."""
        subprocess.run(["umount", self.path], check=True)


@contextmanager
def bucket(folder: Path) -> Iterator[Bucket]:
    """An empty bucket, mounted; all of it ends with the context."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = subprocess.Popen(
        ["moto_server", "-H", "127.0.0.1", "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        _create(port)
        mounted = Bucket(folder, port)
        mounted.mount()
        try:
            yield mounted
        finally:
            mounted.unmount()
    finally:
        server.terminate()
        server.wait()


def _create(port: int) -> None:
    signed = "AWS4-HMAC-SHA256 Credential=access/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with suppress(OSError):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
            connection.request("PUT", "/crawls", headers={"Authorization": signed})
            if connection.getresponse().status == 200:
                return
        time.sleep(0.1)
    raise TimeoutError("the object store does not answer")
