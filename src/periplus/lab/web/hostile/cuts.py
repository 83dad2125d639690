"""Connections that end in the middle, and TLS that should not be trusted or never comes about."""

from __future__ import annotations

from collections.abc import Iterator

from ..exchange import Answer, Request
from .script import DOMAIN, HTML, Action, Reset, Script, answer_page, head, hostile, page

EXPIRED = f"tls-expired.{DOMAIN}"
WRONG_NAME = f"tls-wrong-name.{DOMAIN}"
SELF_SIGNED = f"tls-self-signed.{DOMAIN}"
CUT = f"tls-cut.{DOMAIN}"
"""What goes wrong with these goes wrong in the handshake: see `tls`."""


@hostile("reset")
def reset(request: Request) -> Script:
    """Takes the request and resets the connection (TCP RST) without a word.

    A failure of the wire: try again later, a few times, and do not count it as an answer.
    """
    del request
    return Script(0, iter([Reset()]))


@hostile("reset-in-body")
def reset_in_body(request: Request) -> Script:
    """Sends the head and half of the body, then resets the connection.

    A failure of the wire: half a page is not the page, and its links may be half links.
    """

    def actions() -> Iterator[Action]:
        body = page("Half", '<p><a href="/whole">the whole story</a></p>\n' * 200)
        yield head(request, 200, HTML, ("Content-Length", str(len(body)))) + body[: len(body) // 2]
        yield Reset()

    return Script(200, actions())


@hostile("close-before-body")
def close_before_body(request: Request) -> Script:
    """A good head with a length, then an orderly close: no byte of the body comes.

    A failure, not an empty page.
    """
    return Script(200, iter([head(request, 200, HTML, ("Content-Length", "5000"))]))


@hostile("close-before-head")
def close_before_head(request: Request) -> Script:
    """Takes the request and closes in order, with no byte at all.

    A failure; on a reused connection one immediate second try is fair (RFC 9110 section 9.2.2), not more.
    """
    del request
    return Script(0, iter(()))


def _over_tls(request: Request, story: str) -> Answer:
    """Redirect a request without TLS to the TLS port; a client that comes through there did not check."""
    if request.header("x-forwarded-proto") == "https":
        return answer_page("You did not look", f"<p>{story}</p>")
    return Answer(301, (("Location", f"https://{request.host}/"),), b"")


@hostile("tls-expired")
def tls_expired(request: Request) -> Answer:
    """Its certificate, of the right name, ended yesterday.

    Decide once, and say so: refuse, or fetch and note it; never stop the crawl.
    """
    return _over_tls(request, "The certificate had expired.")


@hostile("tls-wrong-name")
def tls_wrong_name(request: Request) -> Answer:
    """Its certificate is good, for another host.

    Refuse, or fetch and note it; the machine may not know this host at all.
    """
    return _over_tls(request, "The certificate was another's.")


@hostile("tls-self-signed")
def tls_self_signed(request: Request) -> Answer:
    """Its certificate is signed by itself.

    Refuse, or fetch and note it; much of the small web is like this.
    """
    return _over_tls(request, "The certificate is signed by no authority.")


@hostile("tls-cut")
def tls_cut(request: Request) -> Answer:
    """Resets the connection after the client's hello.

    A failure of the wire, as a reset; do not fall back to plain HTTP.
    """
    return _over_tls(request, "There is no way to read this.")
