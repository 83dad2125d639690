"""Messages between processes that may run adjacent versions.

A message is pickled as its kind and its fields by name, whatever carries it. A field that the receiver does not know is
dropped, one that the sender does not know has its default; so fields are appended with defaults and never renamed. A
message of a kind that the receiver does not know arrives as an `UnknownMessage`, which is reported and ignored.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from importlib import import_module
from typing import Any

import msgspec
from msgspec import Struct

log = logging.getLogger(__name__)

_encode = msgspec.msgpack.Encoder().encode


class VersionedMessage(Struct, frozen=True):
    """A message that another version may read."""

    def __reduce__(self) -> tuple[Callable[[str, bytes], VersionedMessage], tuple[str, bytes]]:
        return restored, (f"{type(self).__module__}:{type(self).__name__}", _encode(self))


class UnknownMessage(VersionedMessage, frozen=True):
    """In the place of a message that cannot be read here, because a later version sent it."""

    kind: str


def restored(kind: str, encoded: bytes) -> VersionedMessage:
    """The message of a kind, from its fields."""
    module, _, name = kind.partition(":")
    try:
        found: Any = getattr(import_module(module), name)
        message: VersionedMessage = msgspec.msgpack.decode(encoded, type=found)
    except (ImportError, AttributeError, msgspec.MsgspecError) as error:
        log.error("a message is not read: %s, of another version of Periplus: %s", kind, error)
        return UnknownMessage(kind)
    return message
