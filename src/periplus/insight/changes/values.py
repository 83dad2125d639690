"""The types of changes: their kinds, versions of pages, and the change itself."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from periplus.model import Stored, Url


class Kind(StrEnum):
    """The kind of a change."""

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
    """A change of a page, and the versions before and after it, as far as they exist.

    `level` is `minor` or `major` for pages that changed; `is_back`: a page that appeared had been gone before. `reason`
    says why a page counts as vanished: `http-404`, `http-410`, `redirected` (to `target`) or `robots` (the site's
    robots.txt now forbids it).
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
