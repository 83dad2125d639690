"""Pages that are well sent and badly made: enormous, deep, mislabelled, or with cookies and scripts without an end."""

from __future__ import annotations

from collections.abc import Iterator

from ....hostile.connections import binary_as_html, deep_html
from ....hostile.script import HTML
from ....http import Answer
from ...cases import Case, Judge, Trial, trial
from ...sites import Handler, TrialSite, Web, html_page, prose
from .honest import GROUP, goes_on, spread, tell_stories, tries

_HUGE = 50_000_000
_MANY = 100_000
_JAR = 24
_SNIFFING = "WHATWG MIME Sniffing section 7"
_ENCODING = "WHATWG Encoding section 6; WHATWG HTML section 13.2.3"
_RESOURCES = "OWASP API Security Top 10 (2023), API4: Unrestricted Resource Consumption"


class _Odd:
    """The odd pages of a site, and their cases."""

    def __init__(self, site: TrialSite, honest: tuple[str, ...]) -> None:
        self._site, self._honest = site, honest
        self.cases: list[Case] = []

    def add(
        self, name: str, says: str, source: str, handler: Handler, *, leads_to: str = "", judge: Judge | None = None
    ) -> None:
        """A page, the rule about it, and a page that it leads to."""
        self._site.answers[f"/{name}"] = handler
        if leads_to:
            self._site.answers.setdefault(leads_to, Answer(200, (HTML,), html_page(leads_to)))
        wants = self._site.urls(f"/{name}", *filter(None, (leads_to,)))
        self.cases.append(Case(name=name, says=says, source=source, wants=(*wants, *self._honest), judge=judge))


@trial(GROUP)
def contents(web: Web) -> Trial:
    """Odd pages, beside honest ones."""
    site = web.site()
    odd = _Odd(site, tell_stories(site))
    _add_sizes(odd)
    _add_labels(odd)
    _add_loops(odd, site)
    site.page("/", *spread(site, (f"/{case.name}" for case in odd.cases)), "/town/")
    return Trial(seed=site.url(), limit=120, seconds=480.0, cases=tuple(odd.cases))


def _add_sizes(odd: _Odd) -> None:
    odd.add(
        "deep-page",
        "Elements nested 100,000 deep do not stop the crawl.",
        "WHATWG HTML section 13.2.1: implementations may limit the depth; CWE-674: Uncontrolled Recursion",
        deep_html,
    )
    odd.add(
        "huge-page",
        "A page of 50 MB does not stop the crawl; its first links are found.",
        _RESOURCES,
        lambda _request: Answer(200, (HTML,), _huge()),
        leads_to="/from-the-beginning",
        judge=goes_on,
    )
    odd.add(
        "many-links",
        "A page of 100,000 links (to few pages) does not stop the crawl.",
        _RESOURCES,
        lambda _request: Answer(200, (HTML,), _many()),
    )


def _huge() -> Iterator[bytes]:
    yield html_page("Huge", ["/from-the-beginning"]).partition(b"</body>")[0]
    paragraph = f"<p>{prose('huge')}</p>\n".encode() * 100
    for _ in range(_HUGE // len(paragraph)):
        yield paragraph


def _many() -> bytes:
    return html_page("Many", (f"/town/#{number}" for number in range(_MANY)))


def _add_labels(odd: _Odd) -> None:
    def russian(link: str) -> str:
        return f'<!doctype html><title>Песня</title><p>Широка страна моя родная. <a href="{link}">дальше</a></p>'

    odd.add(
        "lying-charset",
        "Bytes that are not in the declared encoding are replaced, and the rest of the page is read.",
        _ENCODING,
        lambda _request: Answer(200, (HTML,), russian("/from-lying-charset").encode("cp1251")),
        leads_to="/from-lying-charset",
    )
    odd.add(
        "unknown-charset",
        "A page in an unknown encoding is read all the same.",
        _ENCODING,
        lambda _request: Answer(
            200, (("Content-Type", "text/html; charset=x-klingon"),), russian("/from-unknown-charset").encode("cp1251")
        ),
        leads_to="/from-unknown-charset",
    )
    odd.add(
        "byte-order-mark",
        "A byte order mark takes precedence over the declared encoding.",
        "WHATWG Encoding section 6: BOM sniff",
        lambda _request: Answer(
            200, (("Content-Type", "text/html; charset=iso-8859-1"),), russian("/from-utf-16").encode("utf-16")
        ),
        leads_to="/from-utf-16",
    )
    odd.add(
        "nul-in-page",
        "NULs in a page are left out or replaced, and the rest of the page is read.",
        "WHATWG HTML section 13.2.5 (unexpected-null-character)",
        lambda _request: Answer(
            200, (HTML,), html_page("Nul", ["/after-nul"], head="\0\0").replace(b"<h1>", b"\0<h1>\0")
        ),
        leads_to="/after-nul",
    )
    odd.add(
        "binary-as-html",
        "Noise that is called text/html does not stop the crawl.",
        _SNIFFING,
        binary_as_html,
    )
    odd.add(
        "missing-content-type",
        "The type of a page without Content-Type is found by examining its first bytes.",
        f"RFC 9110 section 8.3; {_SNIFFING}",
        lambda _request: Answer(200, (), html_page("Without a type", ["/from-no-type"])),
        leads_to="/from-no-type",
    )
    odd.add(
        "bad-content-type",
        "A Content-Type that is not a media type does not stop the crawl.",
        "RFC 9110 section 8.3",
        lambda _request: Answer(200, (("Content-Type", ";;; /=\"'"),), html_page("A bad type")),
    )


def _add_loops(odd: _Odd, site: TrialSite) -> None:
    def jar(number: int) -> Handler:
        """Each page gives a cookie of 4 KB, and links to the next."""
        cookie = ("Set-Cookie", f"c{number}={'x' * 4000}; Path=/cookies")
        links = [f"/cookies/{number + 1}"] if number < _JAR else []
        return lambda _request: Answer(200, (HTML, cookie), html_page(f"Cookie {number}", links))

    for number in range(1, _JAR + 1):
        site.answers[f"/cookies/{number}"] = jar(number)
    odd.add(
        "growing-cookies",
        "Cookies of 4 KB from every page do not pile up until the server refuses the request (here above 64 KB).",
        "RFC 6265 section 6.1; CWE-770: Allocation of Resources Without Limits",
        lambda _request: Answer(200, (HTML,), html_page("Cookies", ["/cookies/1"])),
        leads_to=f"/cookies/{_JAR}",
    )
    odd.add(
        "endless-script",
        "A script that never ends does not stop the crawl.",
        "WHATWG HTML section 8.1.4.5 (killing scripts)",
        lambda _request: Answer(200, (HTML,), html_page("Script", body="<script>for (;;) {}</script>")),
    )
    odd.add(
        "reloading-script",
        "A page that reloads itself is not fetched forever.",
        "WHATWG HTML section 7.4.3 (reload)",
        lambda _request: Answer(200, (HTML,), html_page("Reload", body="<script>location.reload()</script>")),
        judge=tries(site.url("/reloading-script")),
    )
