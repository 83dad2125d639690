"""Redirects that lead nowhere, never end, or lead where a crawler has no business."""

from __future__ import annotations

import re

from xxhash import xxh3_64_hexdigest

from ..exchange import Answer, Request
from .script import DOMAIN, answer_page, hostile

CHAIN = 50
PRIVATE = {
    "/": "http://127.0.0.1/secret",
    "/metadata": "http://169.254.169.254/latest/meta-data/",
    "/ten": "http://10.0.0.1/",
    "/ipv6": "http://[::1]/",
    "/decimal": "http://2130706433/",
    "/file": "file:///etc/passwd",
}


def _to(location: str, status: int = 302) -> Answer:
    return Answer(status, (("Location", location),), b"")


@hostile("redirect-loop")
def redirect_loop(request: Request) -> Answer:
    """`/` redirects to `/a`, that to `/b`, and that to `/` again, permanently.

    Follow each URL once; a redirect is a new discovery, and these are known.
    """
    return _to({"/": "/a", "/a": "/b"}.get(request.target, "/"), 301)


@hostile("redirect-chain")
def redirect_chain(request: Request) -> Answer:
    """Fifty redirects in a row, `/` to `/hop/1` and so on; at the end an ordinary page.

    Stop after a bounded number of hops (RFC 9309 asks for at least five where robots.txt is meant).
    """
    place = re.fullmatch(r"/hop/(\d{1,4})", request.target)
    hop = int(place[1]) if place else 0
    return answer_page("The end of the chain", "<p>You are patient.</p>") if hop >= CHAIN else _to(f"/hop/{hop + 1}")


@hostile("redirect-private")
def redirect_private(request: Request) -> Answer:
    """Redirects to addresses that must not be fetched: loopback, link-local, private, a local file.

    Look at the address before connecting, on every hop, however it is spelled; refuse other schemes.
    """
    links = " ".join(f'<a href="{path}">{path}</a>' for path in PRIVATE)
    location = PRIVATE.get(request.target)
    return _to(location) if location else answer_page("Private places", f"<p>{links}</p>")


@hostile("redirect-storm")
def redirect_storm(request: Request) -> Answer:
    """Every URL redirects to a host never seen before (`<hash>.redirect-storm...`), without end.

    Bound the hops, and the hosts that one domain may add: each would cost a lookup, a robots.txt and a queue.
    """
    name = xxh3_64_hexdigest(f"{request.host}{request.target}".encode())[:10]
    return _to(f"http://{name}.redirect-storm.{DOMAIN}/")
