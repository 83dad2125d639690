"""Files that say what pages may be used for, as they are kept with the site that serves them.

A file is asked for when a page depends on it, and is used for a day, a licence for as long as it says. Pages that
depend on a file which is still under way wait here with what is known of them.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from msgspec import Struct, field

from periplus.formats.preferences import MAX_TDM_BYTES, TdmFile, read_tdmrep
from periplus.formats.rsl import MAX_LICENSE_BYTES, RslDocument, read_rsl
from periplus.model import Url
from periplus.policy.permissions import UNREACHABLE, UNREADABLE, Statement

from .statements import NO_PLACE, Place, status_of_file

TDMREP_PATH: Final = "/.well-known/tdmrep.json"
DAY: Final = 86_400.0
MAX_DAYS: Final = 30
"""Days for which a licence is used at most, whatever it says."""
MAX_FILES: Final = 50
"""Files of one site that are kept: one TDMRep file and a few licences. What more are named counts as unreachable."""
MAX_WAITING: Final = 200
"""Pages that wait for one file; of further ones nothing is recorded, so they are not explained."""
MAX_BYTES: Final = max(MAX_TDM_BYTES, MAX_LICENSE_BYTES)
MAX_REDIRECTS: Final = 5


class LicenseName(Struct, frozen=True, array_like=True, gc=False):
    """A licence that a page depends on: the source that names it, its URL, and the line of robots.txt."""

    source: str
    url: Url
    line: int = 0


class WaitingPage(Struct, frozen=True, array_like=True):
    """A page whose files are under way: what is known of it, and what is not."""

    url: Url
    fetched_at: float
    statements: tuple[Statement, ...]
    licenses: tuple[LicenseName, ...] = ()
    tdm_headers: tuple[tuple[str, str], ...] = ()
    tdm_metas: dict[str, list[str]] = {}
    head: Place = NO_PLACE
    body: Place = NO_PLACE


class AskedFile(Struct, array_like=True):
    """A file that was asked for, read both as a file of TDMRep and as a licence: who asks says which one it needs.

    `expires_at` is 0 until there is an answer; `target` is where it was moved to.
    """

    expires_at: float = 0.0
    status: str = UNREACHABLE
    digest: str = ""
    record: str = ""
    tdm: TdmFile | None = None
    license: RslDocument | None = None
    target: Url | None = None
    waiting: list[WaitingPage] = field(default_factory=list)

    def tdm_place(self, url: str) -> Place:
        """Where reservations were read. A file that was not read to its end counts as one that is unreachable."""
        is_cut = self.tdm.is_too_long if self.tdm is not None else self.status == UNREADABLE
        return Place(url, UNREACHABLE if is_cut else self._status(self.tdm), self.digest, self.record)

    def license_place(self, url: str) -> Place:
        """Where a licence was read."""
        return Place(url, self._status(self.license), self.digest, self.record)

    def _status(self, said: TdmFile | RslDocument | None) -> str:
        return self.status if said is None or said.is_readable else UNREADABLE

    def take(self, body: bytes | None, status: int | None, record: str, now: float) -> None:
        """Take an answer; `body` is `None` without one that can be read."""
        self.tdm = None if body is None else read_tdmrep(body)
        self.license = None if body is None else read_rsl(body)
        days = 1
        if self.license is not None and self.license.is_readable:
            days = min(max(self.license.max_age_days, 1), MAX_DAYS)
        self.status = status_of_file(status, is_readable=body is not None)
        self.digest = "" if body is None else sha256(body).hexdigest()
        self.record, self.expires_at = record, now + days * DAY


class SitePermissions(Struct, array_like=True):
    """What a site serves about permissions: its files, and where the archive has its robots.txt.

    `robots_digest` is the SHA-256 of the rules that were read last, `robots_record` where they are.
    """

    files: dict[Url, AskedFile] = field(default_factory=dict)
    robots_digest: str = ""
    robots_record: str = ""
