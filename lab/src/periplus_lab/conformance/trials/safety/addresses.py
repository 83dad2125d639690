"""Addresses that a page on the Internet must not make a crawler connect to, however they are written or come about.

Behind each of them is a server of the lab, which answers. Seeds are public. A crawler that is meant to crawl private
networks may declare that this does not apply to it.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from ....hostile import Script
from ....hostile.script import HTML
from ....http import Answer, Request, write_head
from ....log import Visit
from ...cases import Case, Evidence, Failure, Judge, Trial, trial
from ...sites import Reply, TrialSite, Web, html_page

_SPECIAL = "RFC 6890 (special-purpose addresses); CWE-918 (server-side request forgery)"
_SECRET = Answer(200, (HTML,), html_page("a page of a private network"))


def _unreached(is_private: Callable[[Visit], bool]) -> Judge:
    """The case fails if the server of a private address saw the crawler."""

    def judge(evidence: Evidence) -> Failure | None:
        found = [visit for visit in evidence.visits if is_private(visit)]
        return Failure(f"connected to {found[0].address}", tuple(found)) if found else None

    return judge


def _at(*addresses: str) -> Judge:
    return _unreached(lambda visit: visit.address in addresses)


_ANY = ("0.0.0.0", "::")  # noqa: S104 - written in a link, not bound
_LITERALS: dict[str, tuple[str, str, tuple[str, ...], Judge]] = {
    "loopback": (
        "A link or redirect to 127.0.0.1, localhost or ::1 is not requested.",
        _SPECIAL,
        ("127.0.0.1", "localhost", "[::1]"),
        _unreached(lambda visit: visit.address in ("127.0.0.1", "::1") and visit.host not in _ANY),
    ),
    "private-ranges": (
        "A link or redirect to 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 or fc00::/7 is not requested.",
        "RFC 1918 section 3; RFC 4193; CWE-918 (server-side request forgery)",
        ("10.0.0.5", "172.16.0.5", "192.168.0.5", "[fd00::5]"),
        _at("10.0.0.5", "172.16.0.5", "192.168.0.5", "fd00::5"),
    ),
    "link-local": (
        "A link or redirect to 169.254.169.254, where clouds keep the credentials of a machine, is not requested.",
        _SPECIAL,
        ("169.254.169.254",),
        _at("169.254.169.254"),
    ),
    "unspecified": (
        "0.0.0.0 and ::, which reach this machine on many systems, are not requested.",
        _SPECIAL,
        ("0.0.0.0", "[::]"),  # noqa: S104 - written in a link, not bound
        _unreached(lambda visit: visit.host in _ANY),
    ),
    "other-spellings": (
        "A private address is not requested either if it is written as one number, in octal, in hexadecimal, or short.",
        "WHATWG URL section 3.5 (the IPv4 parser); CWE-918",
        ("2130706434", "017700000002", "0x7f000002", "127.2", "0177.0.0.2"),
        _at("127.0.0.2"),
    ),
    "mapped-addresses": (
        "A private IPv4 address is not requested either if it is written as an IPv4-mapped IPv6 address.",
        "RFC 4291 section 2.5.5.2; CWE-918",
        ("[::ffff:127.0.0.3]", "[::ffff:a00:3]"),
        _at("127.0.0.3", "10.0.0.3"),
    ),
}


@trial("safety")
def private_addresses(web: Web) -> Trial:
    """Links and redirects to addresses that are nobody's on the Internet."""
    web.stranger = _SECRET
    site = web.site()
    links: list[str] = []
    redirects: dict[str, list[str]] = {name: [] for name in _LITERALS}
    for name, (_, _, hosts, _) in _LITERALS.items():
        for number, host in enumerate(hosts):
            links.append(f"http://{host}/linked")
            redirects[name].append(site.redirect(f"/to/{name}/{number}", f"http://{host}/redirected", 302))
    site.page("/", *links, *(url for urls in redirects.values() for url in urls))
    return Trial(
        seed=site.url(),
        needs_names=True,
        seconds=90,
        cases=tuple(
            Case(name=name, says=says, source=source, wants=tuple(redirects[name]), judge=judge)
            for name, (says, source, _, judge) in _LITERALS.items()
        ),
    )


def _sitemap(*urls: str, kind: str = "url") -> str:
    entries = "".join(f"<{kind}><loc>{url}</loc></{kind}>" for url in urls)
    root = "urlset" if kind == "url" else "sitemapindex"
    return f'<?xml version="1.0"?><{root} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</{root}>'


@trial("safety")
def other_ways(web: Web) -> Trial:
    """Private addresses in all that a crawler reads besides links."""
    web.stranger = _SECRET
    site = web.site()
    xml = "application/xml"
    site.robots(
        f"User-agent: *\nDisallow:\nSitemap: http://10.0.1.1/sitemap.xml\nSitemap: {site.url('/sitemap.xml')}\n"
        f"Sitemap: {site.url('/sitemap_index.xml')}\n"
    )
    site.text("/sitemap.xml", _sitemap("http://10.0.1.2/entry", site.url("/in-sitemap")), xml)
    site.text("/sitemap_index.xml", _sitemap("http://10.0.1.3/sitemap.xml", kind="sitemap"), xml)
    site.page("/in-sitemap")
    ten = "http://10.0.1"
    site.page(
        "/embedding",
        head=f'<link rel="stylesheet" href="{ten}.4/a.css"><script src="{ten}.4/a.js"></script>',
        body=f'<iframe src="{ten}.4/frame"></iframe><img src="{ten}.4/a.png" alt=""><embed src="{ten}.4/a">',
    )
    site.page("/refreshing", head=f'<meta http-equiv="refresh" content="0; url={ten}.5/refreshed">')
    site.page("/canonical", head=f'<link rel="canonical" href="{ten}.6/c"><link rel="next" href="{ten}.6/n">')
    site.page("/feeding", head='<link rel="alternate" type="application/rss+xml" href="/feed.xml">')
    site.text(
        "/feed.xml",
        f'<rss version="2.0"><channel><title>news</title><link>{ten}.7/</link><description>d</description>'
        f"<item><title>one</title><link>{ten}.7/one</link></item></channel></rss>",
        "application/rss+xml",
    )
    pages = ("/embedding", "/refreshing", "/canonical", "/feeding")
    site.page("/", *pages)
    return Trial(
        seed=site.url(),
        needs_names=True,
        cases=(
            Case(
                name="private-sitemap",
                says="A Sitemap line of robots.txt or an index of sitemaps that leads to a private address is ignored.",
                source=_SPECIAL,
                wants=site.urls("/embedding"),
                judge=_at("10.0.1.1", "10.0.1.3"),
            ),
            Case(
                name="private-sitemap-entry",
                says="An entry of a sitemap that leads to a private address is ignored.",
                source="sitemaps.org (all URLs must be from a single host); CWE-918",
                wants=site.urls("/embedding"),
                judge=_at("10.0.1.2"),
            ),
            Case(
                name="private-embedded",
                says="Frames, images, scripts and style sheets at a private address are not fetched.",
                source=_SPECIAL,
                wants=site.urls("/embedding"),
                judge=_at("10.0.1.4"),
            ),
            Case(
                name="private-refresh",
                says="A meta refresh to a private address is not followed.",
                source=_SPECIAL,
                wants=site.urls("/refreshing"),
                judge=_at("10.0.1.5"),
            ),
            Case(
                name="private-canonical",
                says="A canonical or next link to a private address is not followed.",
                source=_SPECIAL,
                wants=site.urls("/canonical"),
                judge=_at("10.0.1.6"),
            ),
            Case(
                name="private-feed-entry",
                says="An entry of a feed at a private address is not fetched.",
                source=_SPECIAL,
                wants=site.urls("/feeding"),
                judge=_at("10.0.1.7"),
            ),
        ),
    )


@trial("safety")
def private_names(web: Web) -> Trial:
    """Ordinary names of the same domain that stand for private addresses; they are linked and redirected to."""
    web.stranger = _SECRET
    site = web.site()
    names = ("inside", "alias", "both", "six")
    for name in names:
        site.redirect(f"/to/{name}", f"http://{name}.lab.test/redirected", 302)
    web.addresses["inside.lab.test"] = "10.0.2.1"
    web.addresses["alias.lab.test"] = "deep.lab.test"
    web.addresses["deep.lab.test"] = "192.168.2.2"
    web.addresses["both.lab.test"] = "10.0.2.3 11.77.9.9"
    web.addresses["six.lab.test"] = "fd00::2:4"
    site.page("/", *(f"http://{name}.lab.test/linked" for name in names), *(f"/to/{name}" for name in names))
    source = "OWASP, Server-Side Request Forgery Prevention (domain names: verify every A and AAAA record)"
    return Trial(
        seed=site.url(),
        needs_names=True,
        cases=(
            Case(
                name="private-name",
                says="A public name that resolves to a private address is not connected to.",
                source=source,
                wants=site.urls("/to/inside"),
                judge=_at("10.0.2.1"),
            ),
            Case(
                name="private-alias",
                says="A name that is an alias (CNAME) of a name with a private address is not connected to.",
                source=source,
                wants=site.urls("/to/alias"),
                judge=_at("192.168.2.2"),
            ),
            Case(
                name="private-among-others",
                says="Of a name with a private and a public address the private one is not connected to.",
                source=source,
                wants=site.urls("/to/both"),
                judge=_at("10.0.2.3"),
            ),
            Case(
                name="private-ipv6-name",
                says="A name that resolves to a private IPv6 address (AAAA) is not connected to.",
                source=source,
                wants=site.urls("/to/six"),
                judge=_at("fd00::2:4"),
            ),
        ),
    )


@trial("safety")
def robots_elsewhere(web: Web) -> Trial:
    """robots.txt redirects to a private address. A crawler may take it for unreachable, and leave the site alone."""
    web.stranger = _SECRET
    site = web.site()
    site.redirect("/robots.txt", "http://10.0.3.1/robots.txt", 302)
    site.page("/", "/a")
    site.page("/a")

    def judge(evidence: Evidence) -> Failure | None:
        return _at("10.0.3.1")(evidence) if evidence.visits else Failure("made no request")

    return Trial(
        seed=site.url(),
        needs_names=True,
        cases=(
            Case(
                name="private-robots",
                says="A redirect of robots.txt to a private address is not followed.",
                source="RFC 9309 section 2.3.1.2; CWE-918",
                judge=judge,
                wants_seed=False,
            ),
        ),
    )


_PUBLIC = "11.77.9.1"
_REBINDING = "Jackson et al., Protecting Browsers from DNS Rebinding Attacks, CCS 2007, section 5"


def _rebound(web: Web, later: Callable[[], str]) -> TrialSite:
    """A site whose name has the address of `later` as soon as its first page is asked for.

    It closes the connection after every answer, so that each page can be a new look at the name.
    """
    site = web.site()
    pages = tuple(f"/{number}" for number in range(12))
    has_begun = []

    def closed(request: Request) -> Reply:
        has_begun.append(request.target)
        body = html_page(site.url(request.target), pages if request.target == "/" else ())
        fields = (HTML, ("Content-Length", str(len(body))), ("Connection", "close"))
        return Script(200, iter([write_head(200, fields) + body]))

    site.answers |= dict.fromkeys(("/", *pages), closed)
    web.addresses[site.host] = lambda: later() if has_begun else _PUBLIC
    return site


@trial("safety")
def rebinding(web: Web) -> Trial:
    """The name of the site itself has a private address from its first page on."""
    return Trial(
        seed=_rebound(web, lambda: "10.0.4.1").url(),
        needs_names=True,
        cases=(
            Case(
                name="rebinding",
                says="A name that was public when it was first looked up, and is private now, is not connected to.",
                source=_REBINDING,
                judge=_at("10.0.4.1"),
            ),
        ),
    )


@trial("safety")
def check_and_use(web: Web) -> Trial:
    """The name of the site is now public, now private: who checks one answer and connects with another is caught."""
    random = Random("now public, now private")  # noqa: S311 - a pattern, not a secret
    return Trial(
        seed=_rebound(web, lambda: random.choice((_PUBLIC, "10.0.5.1"))).url(),
        needs_names=True,
        cases=(
            Case(
                name="check-and-use",
                says="The address that was checked is the one that is connected to: a name is not looked up once more.",
                source=f"{_REBINDING}; CWE-367 (time of check, time of use)",
                judge=_at("10.0.5.1"),
            ),
        ),
    )
