"""Which rule of a group holds for a path."""

from __future__ import annotations

from ....hostile.script import XML
from ....http import Answer
from ...cases import Case, Evidence, Failure, Trial, trial
from ...sites import TrialSite, Web

_RFC = "RFC 9309 section"


@trial("robots")
def rules(web: Web) -> Trial:
    """Rules as they are written by hand."""
    site = web.site()
    site.robots(
        f"Sitemap: {site.url('/sitemap.xml')}\n\n"
        "# For everybody.\n"
        "User-agent: *   # all of you\n"
        "Disallow: /longest\nAllow: /longest/open\n"
        "Disallow: /tie\nAllow: /tie\n"
        "Disallow: /*-draft\nDisallow: /end$\nDisallow: /query?x=1\n"
        "Disallow: /Upper\nDisallow: /dot.x\nDisallow: /deep\n"
        "# Disallow: /old\nDisallow: /new # since May\n"
        "disallow:/tight\n \tDISALLOW \t: \t/loose \t\n"
        "Disallow: /target\nDisallow: /listed\n"
        "Noindex: /nothing\nHost: www.example\nno colon in this line\nSitemap: /relative.xml\n"
        "Disallow: /after-unknown\n"
    )
    sitemap = "".join(f"<url><loc>{url}</loc></url>" for url in site.urls("/", "/listed"))
    xml = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{sitemap}</urlset>'
    site.answers["/sitemap.xml"] = Answer(200, (XML,), xml.encode())
    allowed = ("/longest/open/a", "/tie/a", "/drafts", "/ending", "/query?x=2", "/upper", "/dotyx", "/x/deep", "/old")
    forbidden = (
        *("/longest/closed", "/x/a-draft", "/x/b-draft?c", "/end", "/query?x=1", "/Upper", "/dot.x", "/deep/a"),
        *("/new/a", "/tight", "/loose", "/target", "/listed", "/after-unknown"),
    )
    site.pages((*allowed, *forbidden))
    site.redirect("/hop", "/target", 302)
    site.page("/", *allowed, *forbidden, "/hop")
    return Trial(seed=site.url(), seconds=90, cases=(*_matching(site), *_writing(site), *_reach(site)))


def _matching(site: TrialSite) -> tuple[Case, ...]:
    return (
        Case(
            name="longest-match",
            says="The most specific match found MUST be used: the match that has the most octets.",
            source=f"{_RFC} 2.2.2",
            wants=site.urls("/longest/open/a"),
            forbids=site.urls("/longest/closed"),
        ),
        Case(
            name="allow-wins-a-tie",
            says="If an allow rule and a disallow rule are equivalent, then the allow rule SHOULD be used.",
            source=f"{_RFC} 2.2.2",
            wants=site.urls("/tie/a"),
        ),
        Case(
            name="wildcard",
            says="`*` designates 0 or more instances of any character.",
            source=f"{_RFC} 2.2.3",
            wants=site.urls("/drafts"),
            forbids=site.urls("/x/a-draft", "/x/b-draft?c"),
        ),
        Case(
            name="end-of-pattern",
            says="`$` designates the end of the match pattern.",
            source=f"{_RFC} 2.2.3",
            wants=site.urls("/ending"),
            forbids=site.urls("/end"),
        ),
        Case(
            name="query",
            says="Rules are matched against the path and the query of a URI.",
            source=f"{_RFC} 2.2.2",
            wants=site.urls("/query?x=2"),
            forbids=site.urls("/query?x=1"),
        ),
        Case(
            name="case-of-paths",
            says="The matching of paths SHOULD be case sensitive.",
            source=f"{_RFC} 2.2.2",
            wants=site.urls("/upper"),
            forbids=site.urls("/Upper"),
        ),
        Case(
            name="plain-characters",
            says="Only `*`, `$` and `#` are special: a rule is no regular expression.",
            source=f"{_RFC} 2.2.3",
            wants=site.urls("/dotyx"),
            forbids=site.urls("/dot.x"),
        ),
        Case(
            name="first-octet",
            says="The matching MUST start with the first octet of the path.",
            source=f"{_RFC} 2.2.2",
            wants=site.urls("/x/deep"),
            forbids=site.urls("/deep/a"),
        ),
    )


def _writing(site: TrialSite) -> tuple[Case, ...]:
    return (
        Case(
            name="comment",
            says="`#` designates a line comment, which may follow a rule.",
            source=f"{_RFC} 2.2.3",
            wants=site.urls("/old"),
            forbids=site.urls("/new/a"),
        ),
        Case(
            name="spaces-and-case",
            says="Names of fields are written in any case, with any white space around them and their values.",
            source=f"{_RFC} 2.2",
            wants=site.urls("/old"),
            forbids=site.urls("/tight", "/loose"),
        ),
        Case(
            name="unknown-lines",
            says="Parsing of other records MUST NOT interfere with the parsing of rules, or terminate a group.",
            source=f"{_RFC} 2.2.4",
            wants=site.urls("/old"),
            forbids=site.urls("/after-unknown"),
        ),
    )


def _reach(site: TrialSite) -> tuple[Case, ...]:
    return (
        Case(
            name="redirect-to-forbidden",
            says="A crawler MUST match the rules against the URI that it accesses: also where a redirect leads.",
            source=f"{_RFC} 2.2.2",
            wants=site.urls("/hop"),
            forbids=site.urls("/target"),
        ),
        Case(
            name="sitemap-lists-forbidden",
            says="What robots.txt disallows is not accessed because a sitemap lists it.",
            source=f"{_RFC} 2.2.2",
            forbids=site.urls("/listed"),
        ),
        Case(
            name="robots-first",
            says="Rules are matched before a URI is accessed: the first request to a host is for its robots.txt.",
            source=f"{_RFC} 2.2.2",
            judge=robots_came_first,
        ),
    )


def robots_came_first(evidence: Evidence) -> Failure | None:
    """Fail if a page was requested before robots.txt."""
    page = evidence.pages()[0]
    earlier = [visit for visit in evidence.visits if visit.target == "/robots.txt" and visit.host == page.host]
    if earlier and earlier[0].real_started_at <= page.real_started_at:
        return None
    return Failure("requested a page before robots.txt", (page, *earlier[:1]))


@trial("robots")
def encodings(web: Web) -> Trial:
    """Paths that are spelled in several ways."""
    site = web.site()
    site.robots(
        "User-agent: *\n"
        "Disallow: /raw/ツ\nDisallow: /coded/%E3%83%84\n"
        "Disallow: /tilde/%7Ejoe\nDisallow: /tilde/~ann\nDisallow: /letters/%62%61%7A\n"
        "Disallow: /hex/a%3cd\nDisallow: /slash/a%2Fb\n"
        "Disallow: /star/%2A\nDisallow: /dollar/%24\n"
    )
    allowed = ("/raw/a", "/coded/a", "/tilde/jo", "/letters/ba", "/hex/a", "/slash/a/b", "/star/a", "/dollar/a")
    raw = "/coded/ツ"
    forbidden = (
        *("/raw/%E3%83%84", "/coded/%E3%83%84", "/tilde/~joe", "/tilde/~ann", "/letters/baz", "/hex/a%3Cd"),
        *("/slash/a%2Fb", "/star/*", "/dollar/$"),
    )
    site.pages((*allowed, *forbidden, "/tilde/%7Eann"))
    site.page("/", *allowed, *[raw if target == "/coded/%E3%83%84" else target for target in forbidden])
    return Trial(seed=site.url(), seconds=90, cases=_encodings(site, raw.encode().decode("latin-1")))


def _encodings(site: TrialSite, raw: str) -> tuple[Case, ...]:
    return (
        Case(
            name="non-ascii-rule",
            says="Octets in robots.txt paths outside ASCII MUST be percent-encoded prior to comparison.",
            source=f"{_RFC} 2.2.2",
            wants=site.urls("/raw/a"),
            forbids=site.urls("/raw/%E3%83%84"),
        ),
        Case(
            name="non-ascii-link",
            says="Octets in the URI outside ASCII MUST be percent-encoded prior to comparison.",
            source=f"{_RFC} 2.2.2",
            wants=site.urls("/coded/a"),
            forbids=site.urls("/coded/%E3%83%84", "/coded/%e3%83%84", raw),
        ),
        Case(
            name="percent-encoded-unreserved",
            says="A percent-encoded ASCII octet MUST be unencoded prior to comparison, unless it is reserved.",
            source=f"{_RFC} 2.2.2",
            wants=site.urls("/tilde/jo", "/letters/ba"),
            forbids=site.urls("/tilde/~joe", "/tilde/%7Ejoe", "/tilde/~ann", "/tilde/%7Eann", "/letters/baz"),
        ),
        Case(
            name="case-of-hex-digits",
            says="The hexadecimal digits of a percent-encoding are equal in any case.",
            source="RFC 3986 section 6.2.2.1",
            wants=site.urls("/hex/a"),
            forbids=site.urls("/hex/a%3Cd", "/hex/a%3cd"),
        ),
        Case(
            name="percent-encoded-reserved",
            says="A percent-encoded octet is not unencoded if it is reserved: /a%2Fb is not /a/b.",
            source=f"{_RFC} 2.2.2",
            wants=site.urls("/slash/a/b"),
            forbids=site.urls("/slash/a%2Fb"),
        ),
        Case(
            name="special-characters",
            says="`%2A` and `%24` in a rule match `*` and `$` verbatim.",
            source=f"{_RFC} 2.2.3",
            wants=site.urls("/star/a", "/dollar/a"),
            forbids=site.urls("/star/*", "/star/%2A", "/dollar/$", "/dollar/%24"),
        ),
    )
