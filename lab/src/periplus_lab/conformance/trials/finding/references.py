"""How a reference becomes a URL, and how a URL is written: RFC 3986, and the URL Standard where browsers differ."""

from __future__ import annotations

from ...cases import Evidence, Failure, Judge, Trial, trial
from ...sites import TrialSite, Web
from .link_kinds import FEW_PAGES, HTML, URL, WrittenLink, escaped, on_one_page, on_own_pages, once

_RFC = "RFC 3986 section"
_LONG = 2_000


def _link(href: str) -> str:
    return f'<p><a href="{href}">A link</a></p>'


def _kinds(site: TrialSite) -> tuple[WrittenLink, ...]:
    """The page that has them is `/a/b/page`."""
    long = "/long?".ljust(_LONG - len(site.base), "x")
    return (
        WrittenLink(
            name="relative-path",
            says="A relative path replaces the last segment of the page's path.",
            source=f"{_RFC} 5.2.3",
            markup=_link("plain") + _link("./dotted"),
            leads_to=("/a/b/plain", "/a/b/dotted"),
        ),
        WrittenLink(
            name="parent-path",
            says="`..` removes a segment.",
            source=f"{_RFC} 5.2.4",
            markup=_link("../up"),
            leads_to=("/a/up",),
        ),
        WrittenLink(
            name="above-the-root",
            says="`..` at the root is dropped.",
            source=f"{_RFC} 5.4.2",
            markup=_link("../../../../above"),
            leads_to=("/above",),
        ),
        WrittenLink(
            name="query-only",
            says="A reference that is only a query keeps the whole path of the page.",
            source=f"{_RFC} 5.2.2",
            markup=_link("?only=query"),
            leads_to=("/a/b/page?only=query",),
        ),
        WrittenLink(
            name="scheme-relative",
            says="A reference that begins with two slashes has a host, and takes the scheme of the page.",
            source=f"{_RFC} 4.2",
            markup=_link(site.url("/scheme-relative").removeprefix("http:")),
            leads_to=("/scheme-relative",),
        ),
        WrittenLink(
            name="fragments",
            says="A fragment is no part of a request: links that differ in it lead to one page, fetched once.",
            source=f"{_RFC} 3.5",
            markup=_link("/fragments#one") + _link("/fragments#two") + _link("#here") + _link("/fragments"),
            leads_to=("/fragments",),
            judge=_without_fragments(site),
        ),
        WrittenLink(
            name="dot-segments",
            says="Dot segments within a path are removed.",
            source=f"{_RFC} 6.2.2.3",
            markup=_link("/x/./y/../z"),
            leads_to=("/x/z",),
        ),
        WrittenLink(
            name="encoded-dots",
            says="Dot segments whose dots are percent-encoded are dot segments.",
            source=f"{_RFC} 6.2.2.2; {URL} Double-dot URL path segment",
            markup=_link("/x/%2e%2E/encoded-dots"),
            leads_to=("/encoded-dots",),
        ),
        WrittenLink(
            name="backslashes",
            says="A backslash in the path of an http URL is a slash.",
            source=f"{URL} Path state",
            markup=_link("\\back\\slash"),
            leads_to=("/back/slash",),
        ),
        WrittenLink(
            name="space-in-path",
            says="A space within a path is percent-encoded.",
            source=f"{URL} Path percent-encode set",
            markup=_link("/a space"),
            leads_to=("/a%20space",),
        ),
        WrittenLink(
            name="pipe-and-caret",
            says="Characters that RFC 3986 does not allow in a URL do not make it unusable.",
            source=f"{URL} Path percent-encode set",
            markup=_link("/pipe|and^caret"),
            spellings=("/pipe|and^caret", "/pipe%7Cand%5Ecaret", "/pipe|and%5Ecaret", "/pipe%7Cand^caret"),
        ),
        WrittenLink(
            name="path-beyond-ascii",
            says="Characters of a path beyond ASCII are percent-encoded in UTF-8.",
            source=f"{URL} Path state",
            markup=_link("/caf\u00e9/\u6e2f"),
            spellings=escaped("/caf\u00e9/\u6e2f"),
        ),
        WrittenLink(
            name="escapes-are-kept",
            says="`%2F` is not a slash: what is percent-encoded stays so, and is not encoded again.",
            source=f"{_RFC} 2.2",
            markup=_link("/kept%2Fescape%20here"),
            leads_to=("/kept%2Fescape%20here",),
            not_to=("/kept/escape%20here", "/kept%252Fescape%2520here"),
        ),
        WrittenLink(
            name="plus-sign",
            says="A plus sign is a plus sign: in a URL it stands for no space.",
            source=f"{_RFC} 2.2",
            markup=_link("/plus+sign?c+d"),
            leads_to=("/plus+sign?c+d",),
            not_to=("/plus%20sign?c%20d", "/plus+sign?c%20d"),
        ),
        WrittenLink(
            name="stray-percent",
            says="A percent sign that begins no escape does not make a URL unusable.",
            source=f"{URL} Percent-encoded bytes",
            markup=_link("/100%"),
            spellings=("/100%", "/100%25"),
        ),
        WrittenLink(
            name="case-of-paths",
            says="Paths are case-sensitive: two that differ in case are two pages.",
            source=f"{_RFC} 6.2.2.1",
            markup=_link("/Case/Of/Paths") + _link("/case/of/paths"),
            leads_to=("/Case/Of/Paths", "/case/of/paths"),
        ),
        WrittenLink(
            name="long-url",
            says="URLs of 2,000 characters are fetched: sitemaps may have up to 2,047, HTTP recommends 8,000 octets.",
            source="RFC 9110 section 4.1; sitemaps.org, protocol: XML tag definitions",
            markup=_link(long),
            leads_to=(long,),
        ),
    )


def _without_fragments(site: TrialSite) -> Judge:
    fetched_once = once(site.url("/fragments"))

    def judge(evidence: Evidence) -> Failure | None:
        found = [visit for visit in evidence.visits if "#" in visit.target]
        return Failure(f"sent a fragment: {found[0].url}", tuple(found)) if found else fetched_once(evidence)

    return judge


@trial("finding")
def references(web: Web) -> Trial:
    """All on one page, which is two folders deep."""
    site = web.site()
    cases = on_one_page(site, _kinds(site), "/a/b/page")
    site.page("/", "/a/b/page")
    return Trial(seed=site.url(), seconds=FEW_PAGES, cases=cases)


_BASES = (
    WrittenLink(
        name="base",
        says="References are resolved against the `href` of the `base` element.",
        source=f"{HTML} The base element",
        markup='<base href="/elsewhere/">',
        leads_to=("/elsewhere/by-base",),
    ),
    WrittenLink(
        name="first-base",
        says="Of several `base` elements with `href`, the first counts.",
        source=f"{HTML} The base element",
        markup='<base href="/first/"><base href="/second/">',
        leads_to=("/first/by-base",),
        not_to=("/second/by-base",),
    ),
    WrittenLink(
        name="relative-base",
        says="The `href` of a `base` element may itself be relative to the page.",
        source=f"{HTML} The base element",
        markup='<base target="_top" href="below/">',
        leads_to=("/on/below/by-base",),
        not_to=("/below/by-base",),
    ),
)


@trial("finding")
def hosts(web: Web) -> Trial:
    """How a host is written, at a name that is not ASCII; and bases."""
    site = web.site("xn--bcher-kva")
    name = site.host.replace("xn--bcher-kva", "b\u00fccher")
    cases = on_own_pages(site, _BASES, lambda target, kind: site.page(target, "by-base", head=kind.markup))
    kinds = (
        WrittenLink(
            name="host-beyond-ascii",
            says="A host beyond ASCII is looked up and sent in its ASCII form.",
            source=f"{URL} Domain to ASCII",
            markup=_link(f"http://{name}/host-beyond-ascii"),
            leads_to=("/host-beyond-ascii",),
        ),
        WrittenLink(
            name="case-of-hosts",
            says="Scheme and host are case-insensitive: what differs in their case is one URL.",
            source=f"{_RFC} 6.2.2.1",
            markup=_link(f"HTTP://{site.host.upper()}/case-of-hosts")
            + _link("/case-of-hosts")
            + _link(f"HTTP://{site.host.upper()}/upper-case-host"),
            leads_to=("/case-of-hosts", "/upper-case-host"),
            judge=once(site.url("/case-of-hosts")),
        ),
        WrittenLink(
            name="default-port",
            says="The default port of the scheme is no part of a URL: with and without it is one page.",
            source=f"{_RFC} 6.2.3",
            markup=_link(f"http://{site.host}:80/default-port")
            + _link("/default-port")
            + _link(f"http://{site.host}:80/with-default-port"),
            leads_to=("/default-port", "/with-default-port"),
            judge=once(site.url("/default-port")),
        ),
        WrittenLink(
            name="user-info",
            says="What comes before `@` is not the host, and a sender MUST NOT generate it.",
            source="RFC 9110 section 4.2.4",
            markup=_link(f"http://{site.host}@elsewhere.{site.host}/obscured") + _link("/after-user-info"),
            leads_to=("/after-user-info",),
            not_to=("/obscured",),
            judge=_without_user_info,
        ),
    )
    bases = [f"/on/{kind.name}" for kind in _BASES]
    return Trial(
        seed=site.url(), needs_names=True, seconds=FEW_PAGES, cases=(*on_one_page(site, kinds, links=bases), *cases)
    )


def _without_user_info(evidence: Evidence) -> Failure | None:
    found = [visit for visit in evidence.visits if "@" in visit.target or "@" in visit.field("host")]
    return Failure(f"sent user information: {found[0].field('host')}", tuple(found)) if found else None
