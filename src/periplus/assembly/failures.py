"""Explains failures of sites: what is wrong, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from periplus.crawl.fetch import reasons
from periplus.crawl.frontier import Setback
from periplus.crawl.frontier.politeness import NO_SERVER
from periplus.insight.reasons import explained
from periplus.model import Url
from periplus.urls import site_of

MAX_FAILURES: Final = 20
"""Failures in a summary: the table `fetches` has all of them."""

_NEXT_STEPS: Final = {
    "dns-not-found": "check the spelling of the host name",
    "dns-unavailable": "check the network and its name server",
    "dns-timeout": "check the network and its name server",
    "connect-refused": "check the port, and http:// or https://",
    "connect-timeout": "check the address and the network",
    "connect-failed": "check the network",
    "tls": "check the host name; --ca-file FILE trusts a certificate authority of your own",
    "proxy": "check --proxy",
}
_TLS_STEPS: Final = {
    reasons.EXPIRED: "only its owner can renew it; verify_tls = false under [wire] crawls without checking it",
    reasons.NOT_YET_VALID: "check the clock of this machine",
    reasons.OTHER_HOST: "check the host name, with or without www.; a certificate of your own must have this name, "
    "and --ca-file FILE trusts it",
    reasons.SELF_SIGNED: "if you trust it, --ca-file FILE adds it to the trusted ones",
    reasons.UNKNOWN_AUTHORITY: "--ca-file FILE trusts a certificate authority of your own",
    reasons.NOT_TLS: "try http:// instead of https://, or another port",
    reasons.OLD_TLS: "only its owner can update it; try http://",
    reasons.UNKNOWN_NAME: "check the host name",
    reasons.CLIENT_CERTIFICATE: "Periplus cannot send one; ask its owner for another way in",
    reasons.HANDSHAKE_REFUSED: "check the host name and the port",
    reasons.HANDSHAKE_CLOSED: "check the port, and http:// or https://",
}
_PROXY: Final = re.compile(r"the proxy [^\s)]+")
"""How the wire names a proxy in a detail."""


class SiteFailure(Struct, frozen=True):
    """Why nothing could be fetched from a site: the URL that was requested, the reason, and both in words.

    `next_step` is empty where only the site can do something about it.
    """

    url: str
    reason: str
    problem: str
    next_step: str = ""


def failure_of(setback: Setback) -> SiteFailure:
    """A failure in words."""
    step = _NEXT_STEPS.get(setback.reason, "")
    if setback.reason == "tls":
        known = next((problem for problem in _TLS_STEPS if setback.detail.startswith(problem)), "")
        step = _TLS_STEPS.get(known, step)
    return SiteFailure(setback.url, setback.reason, _problem(setback), step)


def _problem(setback: Setback) -> str:
    reason, detail = setback.reason, setback.detail
    usual = explained(reason) or reason
    if reason == "proxy" and detail:
        return f"the proxy {detail}"
    if reason == "tls" and any(detail.startswith(problem) for problem in _TLS_STEPS):
        return detail
    if detail and (reason == "tls" or detail == reasons.HANDSHAKE_STALLED):
        return f"{usual} ({detail})"
    through = _PROXY.search(detail)
    return f"{usual} (through {through[0]})" if through else usual


def failures_of(setbacks: Iterable[Setback], seeds: Sequence[Url], *, has_pages: bool) -> tuple[SiteFailure, ...]:
    """The failures for a summary: seeds whose server cannot be reached, or all failures if no page was fetched."""
    sites = frozenset(map(site_of, seeds))
    shown = [each for each in setbacks if not has_pages or (each.site in sites and each.reason in NO_SERVER)]
    return tuple(failure_of(each) for each in shown[:MAX_FAILURES])
