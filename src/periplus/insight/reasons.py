"""Every reason that a crawl can give, in a line for people. The words are those of the tables; they are stable."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from periplus.policy.filters import REASONS as REFUSALS

_WIRE: Final = {
    "dns-not-found": "the name does not exist or has no address",
    "dns-unavailable": "the name server failed or could not be asked",
    "dns-timeout": "no answer from the name server in time",
    "connect-refused": "nobody listens there",
    "connect-timeout": "no connection in time",
    "connect-failed": "no connection: no route or no network",
    "tls": "the handshake failed, or the certificate proves nothing",
    "timeout": "the whole answer took too long",
    "too-slow": "hardly a byte came for too long",
    "reset": "the connection broke",
    "closed-early": "the server hung up before the answer was whole",
    "too-many-headers": "a head without end",
    "bad-response": "what came is no HTTP, or breaks its rules",
    "bad-redirect": "a redirect that names no place to go to",
    "unwanted-type": "no page but something else; not downloaded",
    "http2": "the server broke the rules of HTTP/2",
    "bad-url": "no request can be made for such a URL",
    "proxy": "the proxy cannot be reached or refuses",
    "over-budget": "memory was short; not the server's fault",
    "cancelled": "we stopped",
    "lost": "nobody said what became of it in time",
    "other": "something else; the table `fetches` has the detail",
}
_ROBOTS: Final = {
    "robots": "the site's robots.txt asks crawlers to stay out",
    "robots-unreachable": "the site cannot be asked for its robots.txt, so nothing is fetched (RFC 9309)",
    "private-address": "the address is in a private network; if it is yours, allow the host: --allow-private HOST",
}
_LISTED: Final = {
    "not-a-url": "a sitemap lists it, but it is no URL that can be fetched",
    "sitemap-foreign-host": "only files of another host list it, which its own host's robots.txt does not name",
    "sitemap-other-folder": "only files in another folder list it, which no robots.txt names",
}
EXPLAINED: Final = {**_WIRE, **_ROBOTS, **_LISTED, **REFUSALS}


def explained(reason: str) -> str:
    """What a reason means; nothing for a word that nobody knows."""
    if reason.startswith("http-") and reason[5:].isdigit():
        status = int(reason[5:])
        known = {each.value: each.phrase for each in HTTPStatus}
        return f"the server answered {status}" + (f", {known[status]}" if status in known else "")
    return EXPLAINED.get(reason, "")
