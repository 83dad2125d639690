"""The generated web: what exists (`World`), and the values between it and its server (`Request`, `Answer`).

A world is pure: the same seed and the same request give the same bytes on any machine, and the time is part of the
request. Sockets, clocks and logs belong to the server. `conformance` judges crawlers by such a server; `simulate`
compares policies without one, in virtual time; `commands` has what people type.
"""

from .http import Answer, Request
from .world import DEFAULT_EPOCH, World

__all__ = ["DEFAULT_EPOCH", "Answer", "Request", "World"]
