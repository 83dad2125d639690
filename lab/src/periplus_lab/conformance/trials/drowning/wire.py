"""Broken HTTP. Every answer is broken in one way; the crawl goes on with the other pages."""

from __future__ import annotations

from collections.abc import Iterator

from ....hostile.connections import close_before_body, close_before_head, reset, reset_in_body
from ....hostile.script import HTML, Action, Script, head
from ....http import Answer, Request
from ...cases import Case, Trial, trial
from ...sites import Handler, TrialSite, Web, html_page
from .honest import GROUP, at_first, spread, tell_stories, tries

_FRAMING = "RFC 9112 section 6.3"


def _raw(*pieces: bytes, status: int = 0, closes: bool = True) -> Handler:
    """Send these bytes."""

    def handler(_request: Request) -> Script:
        actions: Iterator[Action] = iter(pieces)
        return Script(status, actions, closes)

    return handler


def _answer(fields: bytes, body: bytes) -> bytes:
    """An answer with some fields, as they are given."""
    return b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n" + fields + b"\r\n" + body


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


class _Broken:
    """The broken pages of a site, and their cases."""

    def __init__(self, site: TrialSite, honest: tuple[str, ...]) -> None:
        self._site, self._honest = site, honest
        self.cases: list[Case] = []

    def add(
        self,
        name: str,
        answer: Handler,
        says: str,
        source: str,
        wants: tuple[str, ...] = (),
        forbids: tuple[str, ...] = (),
    ) -> None:
        """A page that is broken at first, the rule about it, and what it links to if it is read right or wrong."""
        self._site.answers[f"/{name}"] = at_first(answer, Answer(200, (HTML,), html_page(name)))
        self._site.pages((*wants, *forbids))
        self.cases.append(
            Case(
                name=name,
                says=says,
                source=source,
                wants=(self._site.url(f"/{name}"), *self._honest, *self._site.urls(*wants)),
                forbids=self._site.urls(*forbids),
                judge=tries(self._site.url(f"/{name}")),
            )
        )


@trial(GROUP)
def wire(web: Web) -> Trial:
    """Answers that break the rules of HTTP/1.1, beside honest pages."""
    site = web.site()
    honest = tell_stories(site)
    broken = _Broken(site, honest)
    _add_heads(broken)
    _add_lengths(broken)
    _add_cuts(broken)
    site.answers["/reset"] = reset
    site.page("/", *spread(site, (f"/{case.name}" for case in broken.cases)), "/town/")
    return Trial(seed=site.url(), limit=120, seconds=600.0, cases=tuple(broken.cases))


def _add_heads(broken: _Broken) -> None:
    ordinary = html_page("An ordinary page")
    broken.add(
        "no-status-line",
        _raw(ordinary),
        "An answer without a status line (HTTP/0.9) does not stop the crawl.",
        "RFC 9112 sections 2.1 and 4",
    )
    broken.add(
        "binary-answer",
        _raw(bytes(range(256)) * 64),
        "An answer that is not HTTP at all does not stop the crawl.",
        "RFC 9112 section 4",
    )
    broken.add(
        "bad-status-code",
        _raw(b"HTTP/1.1 99999999999999999999 Enormous\r\nContent-Length: 0\r\n\r\n"),
        "A status code outside the range of three digits does not stop the crawl.",
        "RFC 9110 section 15",
    )
    broken.add(
        "nul-in-head",
        _raw(_answer(b"X-Odd: a\0b\r\nContent-Length: %d\r\n" % len(ordinary), ordinary), status=200),
        "A NUL in a field makes the answer invalid, or is replaced by a space; it does not stop the crawl.",
        "RFC 9110 section 5.5",
    )
    broken.add(
        "field-without-colon",
        _raw(_answer(b"this is not a field\r\nContent-Length: %d\r\n" % len(ordinary), ordinary), status=200),
        "A line of the head that is not a field does not stop the crawl.",
        "RFC 9112 section 5",
    )


def _add_lengths(broken: _Broken) -> None:
    linked = html_page("Which is it?", ["/from-two-lengths"])
    broken.add(
        "negative-length",
        _raw(_answer(b"Content-Length: -5\r\n", html_page("Negative")), status=200),
        "An invalid Content-Length does not stop the crawl.",
        _FRAMING,
    )
    broken.add(
        "two-lengths",
        _raw(_answer(b"Content-Length: 20\r\nContent-Length: %d\r\n" % len(linked), linked), status=200),
        "Of a response with different Content-Lengths a user agent MUST discard what it received.",
        _FRAMING,
        forbids=("/from-two-lengths",),
    )
    chunked = html_page("Chunked", ["/from-chunks"])
    fields = b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"
    broken.add(
        "length-and-chunks",
        _raw(_answer(fields, _chunk(chunked[:100]) + _chunk(chunked[100:]) + b"0\r\n\r\n"), status=200),
        "If a message has both a Transfer-Encoding and a Content-Length, the Transfer-Encoding overrides the length.",
        _FRAMING,
        wants=("/from-chunks",),
    )
    extra = _answer(b"Content-Length: %d\r\n" % len(smuggled := html_page("Extra", ["/from-extra-bytes"])), smuggled)
    short = html_page("Longer than it says")
    broken.add(
        "extra-bytes",
        _raw(_answer(b"Content-Length: %d\r\n" % len(short), short + extra), status=200, closes=False),
        "A client MUST NOT process data after the end of a response as a separate response.",
        _FRAMING,
        forbids=("/from-extra-bytes",),
    )
    stream = b"Transfer-Encoding: chunked\r\n"
    broken.add(
        "chunk-too-long",
        _raw(_answer(stream, b"1000000\r\n" + chunked), status=200),
        "A chunk that is shorter than its size says makes the message incomplete; the crawl goes on.",
        "RFC 9112 section 8",
    )
    broken.add(
        "enormous-chunk-size",
        _raw(_answer(stream, b"f" * 40 + b"\r\n" + chunked), status=200),
        "A recipient MUST anticipate large chunk sizes, and prevent errors due to integer overflows.",
        "RFC 9112 section 7.1",
    )
    broken.add(
        "bad-chunk-size",
        _raw(_answer(stream, b"xyz\r\n" + chunked), status=200),
        "A chunk size that is not a number does not stop the crawl.",
        "RFC 9112 section 7.1",
    )


def _add_cuts(broken: _Broken) -> None:
    cut = html_page("Cut", ["/half-of-a-link-that-is-long"]).partition(b"-of-a-link")[0]
    broken.add(
        "truncated-body",
        _raw(_answer(b"Content-Length: 5000\r\n", cut), status=200),
        "A body that is shorter than its length is incomplete: half a link at its end is not a link.",
        "RFC 9112 section 8; WHATWG HTML section 13.2.5.36 (eof-in-tag)",
        forbids=("/half",),
    )
    gone = "A connection that is lost is a failure of that request; it does not stop the crawl."
    for name, behaviour in (
        ("reset", reset),
        ("reset-in-body", reset_in_body),
        ("close-before-body", close_before_body),
        ("close-before-head", close_before_head),
    ):
        broken.add(name, behaviour, gone, "RFC 9112 sections 8 and 9.5")
    broken.add(
        "no-content",
        lambda _request: Answer(204, (), b""),
        "A 204 response ends with its head: a client does not wait for a body.",
        "RFC 9110 section 15.3.5",
    )
    broken.add(
        "reset-content",
        lambda _request: Answer(205, (), b""),
        "A 205 response has no content; the crawl goes on.",
        "RFC 9110 section 15.3.6",
    )
    broken.add(
        "empty-body",
        lambda _request: Answer(200, (HTML,), b""),
        "A page without a byte is a page; the crawl goes on.",
        "RFC 9110 section 8.6",
    )
    broken.add(
        "field-of-a-megabyte",
        lambda request: Script(200, iter([head(request, 200, HTML, ("X-Long", "x" * 1_000_000)), html_page("Long")])),
        "A field that is larger than the client wishes to process does not stop the crawl.",
        "RFC 9110 section 5.4",
    )
