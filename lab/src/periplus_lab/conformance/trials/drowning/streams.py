"""Answers that never end, or take very long. Here all of them end after all, so that one does not hide the next."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain

from ....hostile.connections import BETWEEN_CHUNKS
from ....hostile.script import HTML, TEXT, Action, Script, Wait, head, page
from ....http import Answer, Request
from ...cases import Case, Evidence, Failure, Judge, Trial, trial
from ...sites import ALLOW_ALL, Handler, Web, html_page
from .honest import GROUP, MEBIBYTE, at_first, spread, tell_stories

_BODY, _MOST_BODY = 256 * MEBIBYTE, 128 * MEBIBYTE
_HEAD, _MOST_HEAD = 64 * MEBIBYTE, 16 * MEBIBYTE
"""Bytes that are sent to a crawler that takes all, and how many a crawler takes that has a bound."""
_LONG, _TOO_LONG = 90.0, 75.0
"""Seconds that a slow answer takes, and within which a crawler has given it up or gone on besides."""
_HINTS = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n"
_COMMENT = b"# This line says nothing, and there are many more like it.\n"
Start = Callable[[Request], bytes]
"""How an answer begins."""
_OWASP = "OWASP API Security Top 10 (2023), API4: Unrestricted Resource Consumption"


def _forever(start: Start, piece: bytes, most: int) -> Handler:
    """Send the same again and again, up to `most` bytes."""

    def handler(request: Request) -> Script:
        def actions() -> Iterator[Action]:
            yield start(request)
            for _ in range(most // len(piece)):
                yield piece
                yield Wait(BETWEEN_CHUNKS)

        return Script(200, actions())

    return handler


def _drip(start: Start) -> Handler:
    """Send a byte a second: never idle long enough for a read timeout."""

    def handler(request: Request) -> Script:
        drops: list[Action] = [Wait(1.0), b"#"]
        return Script(200, chain([start(request)], drops * int(_LONG)))

    return handler


def first_bytes(actions: Iterator[Action], most: int) -> Iterator[Action]:
    """What a script sends, up to `most` bytes."""
    for action in actions:
        yield action
        most -= len(action) if isinstance(action, bytes) else 0
        if most < 0:
            return


def _page_start(request: Request) -> bytes:
    return head(request, 200, HTML)


def _field_start(request: Request) -> bytes:
    return head(request, 200, HTML)[:-2] + b"X-Filler: "


def _robots_start(request: Request) -> bytes:
    return head(request, 200, TEXT) + b"User-agent: *\nDisallow: /private/\n"


def _hints_start(_request: Request) -> bytes:
    return _HINTS


def takes(url: str, most: int) -> Judge:
    """No answer was read beyond a bound."""

    def judge(evidence: Evidence) -> Failure | None:
        if longest := [visit for visit in evidence.to(url) if visit.sent > most]:
            return Failure(f"took {longest[0].sent / MEBIBYTE:,.0f} MiB of {url}", tuple(longest))
        return None

    return judge


@trial(GROUP)
def streams(web: Web) -> Trial:
    """Bodies and heads without an end."""
    site = web.site()
    honest = tell_stories(site)
    site.answers["/endless-body"] = _forever(_page_start, b"<p>and there is more\n" * 3000, _BODY)
    site.answers["/endless-head"] = _forever(_field_start, b"more\r\nX-Filler: and " * 3000, _HEAD)
    site.answers["/endless-line"] = _forever(_field_start, b"and there is more " * 3000, _HEAD)
    site.answers["/early-hints"] = _forever(_hints_start, _HINTS * 1000, _HEAD)
    site.page("/", "/endless-body", "/endless-head", "/endless-line", "/early-hints", "/town/")
    return Trial(
        seed=site.url(),
        limit=60,
        seconds=400.0,
        cases=(
            Case(
                name="endless-body",
                says="A page that never ends is left at a largest size, and the crawl goes on.",
                source=_OWASP,
                wants=(site.url("/endless-body"), *honest),
                judge=takes(site.url("/endless-body"), _MOST_BODY),
            ),
            Case(
                name="endless-head",
                says="Fields without an end are left at a largest size of the head.",
                source="RFC 9110 section 5.4: a client MAY discard or truncate fields that are larger than it wishes",
                wants=(site.url("/endless-head"), *honest),
                judge=takes(site.url("/endless-head"), _MOST_HEAD),
            ),
            Case(
                name="endless-field",
                says="A field without an end is left at a largest size of a line.",
                source="RFC 9110 section 5.4",
                wants=(site.url("/endless-line"), *honest),
                judge=takes(site.url("/endless-line"), _MOST_HEAD),
            ),
            Case(
                name="endless-interim-answers",
                says="Interim answers (1xx) may come before the final one, but not without an end.",
                source="RFC 9110 section 15.2: a client MUST be able to parse one or more 1xx responses",
                wants=(site.url("/early-hints"), *honest),
                judge=takes(site.url("/early-hints"), _MOST_HEAD),
            ),
        ),
    )


@trial(GROUP)
def robots_stream(web: Web) -> Trial:
    """A robots.txt without an end."""
    site = web.site()
    honest = tell_stories(site)
    site.page("/private/")
    site.answers["/robots.txt"] = _forever(_robots_start, _COMMENT * 1000, _HEAD)
    site.page("/", "/private/", "/town/")
    return Trial(
        seed=site.url(),
        limit=60,
        seconds=240.0,
        cases=(
            Case(
                name="endless-robots",
                says="A robots.txt without an end is read to a limit of at least 500 KiB, and what was read is obeyed.",
                source="RFC 9309 section 2.5",
                wants=honest,
                forbids=site.urls("/private/"),
                judge=takes(site.url("/robots.txt"), _MOST_HEAD),
            ),
        ),
    )


def _late(request: Request) -> Script:
    """Nothing for a long time, then a page."""
    body = page("Late", "<p>It was ready all along.</p>")
    return Script(200, iter([Wait(_LONG), head(request, 200, HTML, ("Content-Length", str(len(body)))) + body]))


def _held_up(url: str) -> Judge:
    """The slow answer was given up, or something else was requested while it was under way."""

    def judge(evidence: Evidence) -> Failure | None:
        for slow_visit in evidence.to(url)[:1]:
            began = slow_visit.real_started_at
            after = [visit for visit in evidence.visits if visit.real_started_at > began]
            has_left = slow_visit.real_ended_at - began < _TOO_LONG
            if not has_left and after and after[0].real_started_at - began > _TOO_LONG:
                waited = after[0].real_started_at - began
                return Failure(f"made no other request for {waited:.0f} seconds", (slow_visit, after[0]))
        return None

    return judge


@trial(GROUP)
def slow(web: Web) -> Trial:
    """Answers that take a minute and a half."""
    site, other = web.site(), web.site("slow")
    honest = tell_stories(site)
    quick = Answer(200, (HTML,), html_page("Quick"))
    site.answers["/late"] = at_first(_late, quick)
    site.answers["/drip"] = at_first(_drip(_page_start), quick)
    other.answers["/robots.txt"] = at_first(_drip(_robots_start), Answer(200, (TEXT,), ALLOW_ALL.encode()))
    other.page("/")
    site.page("/", *spread(site, ("/late", "/drip", other.url())), "/town/")
    waits = "OWASP, Denial of Service Cheat Sheet: Slow HTTP attacks (here from the server's side)"
    return Trial(
        seed=site.url(),
        limit=60,
        seconds=600.0,
        cases=(
            Case(
                name="slow-first-byte",
                says="A server that takes the request and does not answer does not hold up the crawl.",
                source=waits,
                wants=(site.url("/late"), *honest),
                judge=_held_up(site.url("/late")),
            ),
            Case(
                name="slow-body",
                says="A body that comes a byte a second does not hold up the crawl: the whole fetch has a bound.",
                source=waits,
                wants=(site.url("/drip"), *honest),
                judge=_held_up(site.url("/drip")),
            ),
            Case(
                name="slow-robots",
                says="A robots.txt that comes a byte a second does not hold up the pages of other hosts.",
                source=waits,
                wants=honest,
                judge=_held_up(other.url("/robots.txt")),
            ),
        ),
    )
