"""What a receiver answers: a status, a sentence, and when to try again."""

from __future__ import annotations

import math

from msgspec import Struct
from starlette.responses import PlainTextResponse, Response

FULL_FOR = 60.0
"""Seconds after which a sender may try again when the inbox is full: a crawl that runs empties it within seconds, one
that does not run will not begin sooner."""


class Answer(Struct, frozen=True):
    """An answer. `retry_after`: seconds, for a sender that was refused for now."""

    status: int
    text: str
    retry_after: float = 0.0

    def response(self) -> Response:
        """The answer as HTTP has it: plain text, with Retry-After if it is set."""
        headers = {"Retry-After": str(math.ceil(self.retry_after))} if self.retry_after else None
        return PlainTextResponse(self.text + "\n", self.status, headers)


def too_many(seconds: float) -> Answer:
    """The answer to a sender that sends too much."""
    return Answer(429, "Too many messages from this address.", max(seconds, 1.0))


def full() -> Answer:
    """The answer while there is no room for more URLs."""
    return Answer(429, "Too many URLs wait to be crawled.", FULL_FOR)
