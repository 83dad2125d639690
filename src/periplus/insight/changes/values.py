"""What happened to a page: the words in which changes are told."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from periplus.model import Stored, Url


class Kind(StrEnum):
    """What became of a page between two visits."""

    APPEARED = "appeared"
    CHANGED = "changed"
    VANISHED = "vanished"


class Version(Struct, frozen=True, gc=False):
    """One capture of a page that was there. Times are POSIX.

    `stored` is its own record, `None` where nothing was kept; `body` is the record that has its bytes: the same, or the
    earlier one that a revisit refers to; `None` where that is not in the collection.
    """

    at: float
    stored: Stored | None = None
    body: Stored | None = None


class Change(Struct, frozen=True, gc=False):
    """Something that happened to a page, and the versions before and after it, as far as there are any.

    `level` is `minor` or `major`, of what changed; `is_back`: a page that appeared had been there before and was gone.
    `reason` says why a page is held to have vanished: `http-404`, `http-410`, `redirected` (to `target`) or `robots`,
    where the site's robots.txt forbids now what it allowed.
    """

    url: Url
    site: str
    kind: Kind
    seen_at: float
    level: str = ""
    is_back: bool = False
    reason: str = ""
    target: str = ""
    before: Version | None = None
    after: Version | None = None
