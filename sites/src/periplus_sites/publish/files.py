"""Writes files atomically, and adds the publisher's block of lines to a robots.txt.

The block is at the end, between two comment lines; everything else belongs to the owner and stays as it is, byte for
byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from periplus.formats.robots import MAX_BYTES, parse
from periplus.store import durable

from .usage import UsagePolicy, with_policy


def write_file(path: Path, body: bytes) -> None:
    """Write a file whole or not at all, and make sure that it stays; its folder is created if it does not exist."""
    path.parent.mkdir(parents=True, exist_ok=True)
    durable.write_file(path, body)


def digest_of(body: bytes) -> str:
    """A digest of a file: its entity tag."""
    return sha256(body).hexdigest()[:32]


BEGIN = b"# begin: written by periplus publish"
END = b"# end: written by periplus publish"


class NotOurs(ValueError):  # noqa: N818 - reads as what is the case
    """A robots.txt that is not written to. The message says why."""


def with_block(body: bytes, lines: Sequence[str], policy: UsagePolicy | None = None) -> bytes:
    """A robots.txt with these lines in the block, and none twice; without lines there is no block.

    The lines of a policy on use are in every group. Raises `NotOurs` for what is not a text that we may add to.
    """
    if len(body) > MAX_BYTES:
        raise NotOurs(f"it is larger than {MAX_BYTES // 1024} KiB: crawlers would not read what is added")
    try:
        body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NotOurs("it is not UTF-8 text") from error
    owner = without_block(body)
    if policy is not None:
        owner, more = with_policy(owner, policy)
        lines = [*lines, *more]
    listed = {f"Sitemap: {url}" for url in parse(owner).sitemaps}
    added = [line for line in lines if line not in listed]
    if not added:
        return owner
    gap = b"" if not owner or owner.endswith(b"\n\n") else b"\n" if owner.endswith(b"\n") else b"\n\n"
    return b"\n".join((owner + gap + BEGIN, *(line.encode() for line in added), END, b""))


def without_block(body: bytes) -> bytes:
    """The owner's part. A block without an end reaches to the end of the file."""
    first = body.find(BEGIN)
    if first < 0:
        return body
    last = body.find(END, first)
    rest = b"" if last < 0 else body[last + len(END) :].lstrip(b"\r\n")
    owner = body[:first]
    return (owner[:-1] if owner.endswith(b"\n\n") else owner) + rest
