"""The living web: what exists (`World`), and how a server and the world speak (`Request`, `Answer`).

A world is pure: the same seed and the same request give the same bytes on any machine, and time arrives with the
request. Sockets, clocks and logs are the server's.
"""

from .exchange import Answer, Request
from .world import DEFAULT_EPOCH, World

__all__ = ["DEFAULT_EPOCH", "Answer", "Request", "World"]
