"""Every reason that a crawl records, explained in one line. The names are those of the tables, and are stable."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from periplus.policy.filters import REASONS as REFUSALS

_WIRE: Final = {
    "dns-not-found": "the name does not exist or has no address",
    "dns-unavailable": "the name server failed or could not be reached",
    "dns-timeout": "no answer from the name server in time",
    "connect-refused": "the server refused the connection",
    "connect-timeout": "no connection in time",
    "connect-failed": "no connection: no route or no network",
    "tls": "the TLS handshake failed, or the certificate is not valid",
    "timeout": "no complete answer in time",
    "too-slow": "the server sent too slowly",
    "reset": "the connection was reset",
    "closed-early": "the server closed the connection before the answer was complete",
    "too-many-headers": "too many header fields",
    "bad-response": "the answer is not valid HTTP",
    "bad-redirect": "a redirect without a valid target",
    "unwanted-type": "not a page by its type; not downloaded",
    "http2": "the server violated HTTP/2",
    "bad-delta": "the answer cannot be decoded with the dictionary that was offered; fetched again without it",
    "bad-url": "the URL cannot be requested",
    "proxy": "the proxy cannot be reached, refuses, or sends something else than it should",
    "over-budget": "our memory limit was reached; not the server's fault",
    "cancelled": "the crawl was stopped",
    "lost": "no result before the lease expired",
    "other": "something else; the table `fetches` has the detail",
}
_ROBOTS: Final = {
    "robots": "forbidden by the site's robots.txt",
    "no-answer": "its robots.txt is at a site of another shard, which did not answer within an hour",
    "outage": "most of the site's pages were gone in the same hours: it waits until they are back",
    "robots-unreachable": "robots.txt could not be fetched, so nothing else is (RFC 9309)",
    "private-address": "the address is in a private network; if it is yours: --allow-private HOST (or HOST:PORT)",
}
_RENAMED: Final = {"renamed": "a rule for duplicate URLs, learnt while it waited, knows its page by another URL"}
_LISTED: Final = {
    "not-a-url": "a sitemap lists it, but it is not a URL that can be fetched",
    "sitemap-foreign-host": "only files of another host list it, which its own host's robots.txt does not name",
    "sitemap-other-folder": "only files in another folder list it, which no robots.txt names",
}
_JUDGED: Final = {
    "spam": "its host was judged to be spam, and `[spam] may_retire` is set",
}
_EMBEDDED: Final = {"page-bytes": "the files of its page have more bytes than `[requisites] max_bytes_per_page`"}
EXPLAINED: Final = {**_WIRE, **_JUDGED, **_ROBOTS, **_RENAMED, **_LISTED, **_EMBEDDED, **REFUSALS}


def explained(reason: str) -> str:
    """Return what a reason means; empty for an unknown one."""
    if reason.startswith("http-") and reason[5:].isdigit():
        status = int(reason[5:])
        known = {each.value: each.phrase for each in HTTPStatus}
        return f"the server answered {status}" + (f", {known[status]}" if status in known else "")
    return EXPLAINED.get(reason, "")
