"""Whether servers can be reached at all: if requests to many of them fail at once, the fault is on our side.

Since a server last answered, or for lookups since the name server did, requests to `SERVERS` different ones have
failed: then the crawl is *in doubt*. Of addresses one server counts, of names that cannot be looked up one registrable
domain. While it is in doubt the frontier grants one request at a time: for the robots.txt of the site that answered
last, whether anything waits there or not. If that is answered, the others failed on their own, as the last sites of a
crawl may, and what they were charged stands. If not, the crawl is *cut off*: what was charged to sites since the last
answer is taken back, nothing more is, and at growing intervals the sites that answered lately and those that failed are
asked in turn, until one answers.

A collection in which no server ever answered is never in doubt: its seeds may be mistyped. Nor are crawls of one or two
servers, which cannot know. All of it is committed: the inputs after a commit are applied again to the same `Reach`.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from periplus.model import Site, Url

SERVERS: Final = 3
"""Different servers that must have failed since the last answer for doubt."""
WITNESSES: Final = 20
"""Sites that are remembered as those that answered last: the last of a crawl may all have died, the others have not."""
MAX_FAILED: Final = 1000
"""Sites that failed since the last answer of which is known what they were charged. The latest replace the earliest."""
_FIRST_INTERVAL, _LONGEST_INTERVAL = 10.0, 60.0
"""Seconds between two attempts while cut off; they double."""
_TRUSTED: Final = 60.0
"""Seconds without doubt after another site than those that failed has answered: meanwhile failures are their own."""
_BUSY: Final = 1.0
"""Seconds after which the next site is chosen, where one cannot be asked now."""

LOOKUPS: Final = frozenset({"dns-unavailable", "dns-timeout"})
"""Reasons for which a lookup fails if the name server cannot be reached."""
UNREACHED: Final = LOOKUPS | {
    "connect-refused", "connect-timeout", "connect-failed", "tls", "timeout", "too-slow", "reset", "closed-early",
    "proxy",
}  # fmt: skip
"""Reasons for which requests fail if our name server, network or proxy does."""


class Before(Struct, array_like=True):
    """A site that failed: a URL of it, the server that was asked, and what it had been charged before it failed."""

    url: Url
    server: str
    is_lookup: bool
    lookups: int = 0
    failures: int = 0
    robots_tries: int = 0
    retired: str = ""


class CutOff(Struct, frozen=True):
    """For people: since when no server could be reached, of how many sites, for which reason, and the next attempt."""

    since: float
    sites: int
    reason: str
    next_try_at: float


class Reach(Struct, array_like=True):
    """How requests ended lately. `since` is when doubt began, 0 without it; `tries` failed since then."""

    witnesses: dict[Site, Url] = {}
    failed: dict[Site, Before] = {}
    since: float = 0.0
    reason: str = ""
    tries: int = 0
    turn: int = 0
    next_try_at: float = 0.0
    trying: Site | None = None
    trusted_until: float = 0.0

    @property
    def is_in_doubt(self) -> bool:
        """Whether only one request at a time is made."""
        return self.since > 0

    @property
    def cut_off(self) -> CutOff | None:
        """What people are shown; `None` unless the crawl is cut off."""
        return CutOff(self.since, len(self.failed), self.reason, self.next_try_at) if self.tries else None

    @property
    def is_of_lookups(self) -> bool:
        """Whether names cannot be looked up."""
        return self._have_many_failed(is_lookup=True)

    # how requests end

    def answered(self, site: Site, url: Url, now: float) -> None:
        """A server answered."""
        self.witnesses.pop(site, None)
        self.witnesses[site] = url
        if len(self.witnesses) > WITNESSES:
            del self.witnesses[next(iter(self.witnesses))]
        self._reached(site, now, is_lookup=False)

    def looked_up(self, site: Site, now: float) -> None:
        """The name server answered."""
        self._reached(site, now, is_lookup=True)

    def _reached(self, site: Site, now: float, *, is_lookup: bool) -> None:
        is_witness = site not in self.failed
        if self.failed:
            self.failed = {name: before for name, before in self.failed.items() if before.is_lookup != is_lookup}
        if not self.since:
            return
        if self._have_many_failed(is_lookup=not is_lookup):  # then the robots.txt of a site that was looked up is next
            self.turn -= is_lookup and site == self.trying
            self.tried(site, now)
            return
        if is_witness:
            self.trusted_until = now + _TRUSTED
        self.since, self.reason, self.tries, self.turn, self.trying = 0.0, "", 0, 0, None

    def not_reached(self, site: Site, before: Before, reason: str, now: float) -> bool:
        """A request failed for one of `UNREACHED`: whether the crawl is cut off from now on."""
        known = self.failed.get(site)
        if known is None:
            self.failed[site] = before
            if len(self.failed) > MAX_FAILED:
                del self.failed[next(iter(self.failed))]
        else:
            known.server, known.is_lookup = before.server, before.is_lookup
        if self.since:
            if site != self.trying:
                return False
            self.tries += 1
            self.tried(site, now, min(_FIRST_INTERVAL * 2.0 ** min(self.tries - 1, 10), _LONGEST_INTERVAL))
            return self.tries == 1
        if self.witnesses and now >= self.trusted_until and self._have_many_failed(is_lookup=before.is_lookup):
            self.since, self.reason, self.next_try_at = now, reason, now
        return False

    def _have_many_failed(self, *, is_lookup: bool) -> bool:
        servers = {before.server for before in self.failed.values() if before.is_lookup is is_lookup}
        return len(servers) >= SERVERS

    def tried(self, site: Site, now: float, wait: float = 0.0) -> None:
        """The attempt at a site has ended: the next site is asked after this many seconds."""
        if site == self.trying:
            self.trying, self.turn, self.next_try_at = None, self.turn + 1, now + wait

    # what is asked

    @property
    def candidate(self) -> tuple[Site, Url]:
        """The site that is asked next, and a URL of it: those that answered lately first, then those that failed.

        If names cannot be looked up, it is the other way round: the addresses of the former are remembered.
        """
        sites = [(site, url) for site, url in reversed(self.witnesses.items()) if site not in self.failed]
        failed = [(site, before.url) for site, before in self.failed.items()]
        sites = failed + sites if self.is_of_lookups else sites + failed
        return sites[self.turn % len(sites)]

    def postpone(self, ready_at: float, now: float) -> None:
        """The candidate cannot be asked before then: wait for it, or choose another if that would take long."""
        if ready_at > now + _LONGEST_INTERVAL:
            ready_at, self.turn = now + _BUSY, self.turn + 1
        self.next_try_at = ready_at

    def restart(self, now: float) -> None:
        """Continue in a new process, whose clock may have been set: it asks at once."""
        self.trying, self.next_try_at = None, min(self.next_try_at, now)
        self.since, self.trusted_until = min(self.since, now), min(self.trusted_until, now + _TRUSTED)
