"""An address is tried before Ray is: it would try for minutes."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

import pytest
from tests.each_case import each_case

from periplus.model import UsageError
from periplus_ray.connection import connected

pytestmark = pytest.mark.skipif(find_spec("ray") is None, reason="the cluster is an extra: pip install periplus-ray")


@contextmanager
def answering(words: bytes) -> Iterator[str]:
    """A server that sends this to every client, and hangs up."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(100)
                connection.sendall(words)

        thread = threading.Thread(target=answer)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        thread.join()


@each_case("words", [b"", b"no", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"-ERR unknown command\r\n"])
@each_case("scheme", ["", "ray://"])
def test_somebody_else_at_the_address(words: bytes, scheme: str) -> None:
    with answering(words) as address, pytest.raises(UsageError, match="is not Ray"), connected(scheme + address):
        pass


def test_no_cluster_at_the_address() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    with pytest.raises(UsageError, match="no cluster answers"), connected(address):
        pass
