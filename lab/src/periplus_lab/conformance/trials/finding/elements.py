"""Which elements and attributes of HTML are links, and how attributes are written."""

from __future__ import annotations

from ...cases import Case, Evidence, Failure, Trial, trial
from ...sites import TrialSite, Web
from .link_kinds import FEW_PAGES, HTML, URL, WrittenLink, on_one_page

_PICTURE = "data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw=="

_ELEMENTS = (
    WrittenLink(
        name="anchor",
        says="An `a` element that has an `href` attribute is a hyperlink.",
        source=f"{HTML} The a element",
        markup='<p><a href="/anchor">An anchor</a></p>',
        leads_to=("/anchor",),
    ),
    WrittenLink(
        name="area",
        says="An `area` element with an `href` attribute is a hyperlink of an image map.",
        source=f"{HTML} The area element",
        markup=f'<img src="{_PICTURE}" alt="A map" usemap="#chart"><map name="chart">'
        '<area shape="rect" coords="0,0,9,9" href="/area" alt="A bay"></map>',
        leads_to=("/area",),
    ),
    WrittenLink(
        name="iframe",
        says="The `src` attribute of an `iframe` is the page that it contains.",
        source=f"{HTML} The iframe element",
        markup='<iframe src="/iframe" title="A page within"></iframe>',
        leads_to=("/iframe",),
    ),
    WrittenLink(
        name="object",
        says="The `data` attribute of an `object` may be a page.",
        source=f"{HTML} The object element",
        markup='<object data="/object" type="text/html"></object>',
        leads_to=("/object",),
    ),
    WrittenLink(
        name="embed",
        says="The `src` attribute of an `embed` may be a page.",
        source=f"{HTML} The embed element",
        markup='<embed src="/embed" type="text/html">',
        leads_to=("/embed",),
    ),
    WrittenLink(
        name="noscript",
        says="Where scripts do not run, the contents of `noscript` are a part of the page.",
        source=f"{HTML} The noscript element",
        markup='<noscript><p><a href="/noscript">Without scripts</a></p></noscript>',
        leads_to=("/noscript",),
    ),
    WrittenLink(
        name="svg-link",
        says="An `a` element of SVG links with `href`, or with `xlink:href` as older documents have it.",
        source="SVG 2 section 16.2",
        markup='<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">'
        '<a xlink:href="/svg-link"><rect width="9" height="9"></rect></a></svg>',
        leads_to=("/svg-link",),
    ),
    WrittenLink(
        name="comment",
        says="What is in a comment is not an element, and no link.",
        source=f"{HTML} Comments",
        markup='<!-- <p><a href="/in-a-comment">Taken out</a></p> -->',
        not_to=("/in-a-comment",),
    ),
    WrittenLink(
        name="text-of-an-element",
        says="`textarea` contains text and no elements: what looks like a link there is none.",
        source=f"{HTML} Elements",
        markup='<textarea rows="2"><p><a href="/in-a-textarea">Write here</a></p></textarea>',
        not_to=("/in-a-textarea",),
    ),
    WrittenLink(
        name="data-attribute",
        says="`data-*` attributes are private to the page: `data-href` is no link.",
        source=f"{HTML} Embedding custom non-visible data",
        markup='<p><a data-href="/data-attribute" name="data">No link</a></p>',
        not_to=("/data-attribute",),
    ),
)

_OTHER_SCHEMES = (
    "javascript:void(0)",
    "mailto:harbor@example.org",
    "tel:+1-555-0100",
    "data:text/html,hello",
    "sms:+15550100",
    "about:blank",
)
_HEAD = (
    '<link rel="next" href="/link-next"><link rel="prev" href="/link-prev">'
    '<link rel="alternate" hreflang="de" href="/auf-deutsch">'
)


@trial("finding")
def elements(web: Web) -> Trial:
    """Elements that are links; on pages of their own, those that say something about the page that has them."""
    site = web.site()
    own = ("/frames", "/refreshed", "/refreshed-too", "/known-as?also=1", "/form", "/schemes")
    cases = on_one_page(site, _ELEMENTS, head=_HEAD, links=own)
    site.pages(
        (
            "/link-next",
            "/link-prev",
            "/auf-deutsch",
            "/frame",
            "/meta-refresh",
            "/in-quotes",
            "/canonical",
            "/post",
            "/last",
        )
    )
    site.text(
        "/frames",
        "<!doctype html><html><head><title>Frames</title></head>"
        '<frameset cols="50%,50%"><frame src="/frame"></frameset></html>\n',
        "text/html; charset=utf-8",
    )
    site.page("/refreshed", head='<meta http-equiv="refresh" content="0; url=/meta-refresh">')
    site.page("/refreshed-too", head='<meta content="3;URL = \'/in-quotes\'" http-equiv="Refresh">')
    site.page("/known-as?also=1", head='<link rel="canonical" href="/canonical">')
    fields = '<input name="vessel" value="keel"><input type="submit" value="Delete it">'
    site.page("/form", body=f'<form action="/post" method="post">{fields}</form>')
    site.page("/schemes", *_OTHER_SCHEMES, "/last")
    return Trial(seed=site.url(), seconds=FEW_PAGES, cases=(*cases, *_on_pages_of_their_own(site)))


def _on_pages_of_their_own(site: TrialSite) -> tuple[Case, ...]:
    return (
        Case(
            name="link-next",
            says="`link rel=next` and `rel=prev` lead to the neighbours of a page in a series.",
            source=f"{HTML} Sequential link types",
            wants=site.urls("/link-next", "/link-prev"),
        ),
        Case(
            name="link-alternate",
            says="`link rel=alternate` with `hreflang` leads to a translation of the page.",
            source=f"{HTML} Link type alternate",
            wants=site.urls("/auf-deutsch"),
        ),
        Case(
            name="frame",
            says="The `src` attribute of a `frame` is the page that it contains.",
            source=f"{HTML} Frames",
            wants=site.urls("/frames", "/frame"),
        ),
        Case(
            name="meta-refresh",
            says="`meta http-equiv=refresh` leads to the page that its content names.",
            source=f"{HTML} Refresh state",
            wants=site.urls("/refreshed", "/meta-refresh"),
        ),
        Case(
            name="meta-refresh-in-quotes",
            says="The URL of a refresh may be in quotes, with spaces around the equals sign.",
            source=f"{HTML} Shared declarative refresh steps",
            wants=site.urls("/refreshed-too", "/in-quotes"),
        ),
        Case(
            name="canonical",
            says="`link rel=canonical` names the preferred URL of a page, under which it is to be known.",
            source="RFC 6596 section 3",
            wants=site.urls("/known-as?also=1", "/canonical"),
        ),
        Case(
            name="no-post",
            says="A crawler sends no form by POST: it is not safe, and the user asked for nothing.",
            source="RFC 9110 section 9.2.1",
            wants=site.urls("/form"),
            judge=_only_safe_methods,
        ),
        Case(
            name="other-schemes",
            says="A URL of a scheme that is not fetched is no relative reference, and does not end the page.",
            source="RFC 3986 section 4.1",
            wants=site.urls("/schemes", "/last"),
            judge=_no_path_with_a_scheme,
        ),
    )


def _only_safe_methods(evidence: Evidence) -> Failure | None:
    found = [visit for visit in evidence.visits if visit.method not in ("GET", "HEAD", "OPTIONS")]
    return Failure(f"sent {found[0].method} to {found[0].url}", tuple(found)) if found else None


def _no_path_with_a_scheme(evidence: Evidence) -> Failure | None:
    schemes = tuple(f"/{url.partition(':')[0]}:" for url in _OTHER_SCHEMES)
    found = [visit for visit in evidence.visits if visit.target.startswith(schemes)]
    return Failure(f"requested {found[0].url}", tuple(found)) if found else None


_ATTRIBUTES = (
    WrittenLink(
        name="single-quotes",
        says="The value of an attribute may be in single quotes.",
        source=f"{HTML} Attributes",
        markup="<p><a class='x' href='/single-quotes'>Single quotes</a></p>",
        leads_to=("/single-quotes",),
    ),
    WrittenLink(
        name="unquoted",
        says="The value of an attribute may be without quotes.",
        source=f"{HTML} Attributes",
        markup="<p><a href=/unquoted class=x>Without quotes</a></p>",
        leads_to=("/unquoted",),
    ),
    WrittenLink(
        name="unquoted-slash",
        says="A slash at the end of a value without quotes belongs to it.",
        source=f"{HTML} Attribute value (unquoted) state",
        markup="<p><a href=/unquoted-slash/>A slash</a></p>",
        leads_to=("/unquoted-slash/",),
    ),
    WrittenLink(
        name="upper-case",
        says="The names of elements and attributes are the same in upper case.",
        source=f"{HTML} Elements",
        markup='<P><A HREF="/upper-case">Upper case</A></P>',
        leads_to=("/upper-case",),
    ),
    WrittenLink(
        name="space-around-equals",
        says="There may be white space on both sides of the equals sign, and lines may end within a tag.",
        source=f"{HTML} Attributes",
        markup='<p><a\n  class = "x"\n  href\n  =\n  "/space-around-equals"\n>On lines</a></p>',
        leads_to=("/space-around-equals",),
    ),
    WrittenLink(
        name="greater-than",
        says="`>` in a quoted value does not end the tag.",
        source=f"{HTML} Attribute value (double-quoted) state",
        markup='<p><a title="salt > tar" href="/greater-than">Greater</a></p>',
        leads_to=("/greater-than",),
    ),
    WrittenLink(
        name="first-attribute-counts",
        says="Of two attributes with the same name in a tag, the first counts.",
        source=f"{HTML} Attribute name state",
        markup='<p><a href="/first-attribute" href="/second-attribute">Twice</a></p>',
        leads_to=("/first-attribute",),
        not_to=("/second-attribute",),
    ),
    WrittenLink(
        name="ampersand",
        says="`&amp;` in an attribute is an ampersand.",
        source=f"{HTML} Character references",
        markup='<p><a href="/ampersand?a=1&amp;b=2">And</a></p>',
        leads_to=("/ampersand?a=1&b=2",),
    ),
    WrittenLink(
        name="character-references",
        says="A character may be written as its number, in decimal or hexadecimal.",
        source=f"{HTML} Character references",
        markup='<p><a href="&#x2f;character&#45;references">Numbers</a></p>',
        leads_to=("/character-references",),
    ),
    WrittenLink(
        name="bare-ampersand",
        says="In an attribute `&copy` before an equals sign is no character reference.",
        source=f"{HTML} Named character reference state",
        markup='<p><a href="/bare-ampersand?a=1&copy=2">Bare</a></p>',
        leads_to=("/bare-ampersand?a=1&copy=2",),
    ),
    WrittenLink(
        name="space-around-url",
        says="White space before and after a URL is stripped.",
        source=f"{HTML} Valid URL potentially surrounded by spaces",
        markup='<p><a href="  \n\t/space-around-url \n">Spaces</a></p>',
        leads_to=("/space-around-url",),
    ),
    WrittenLink(
        name="line-end-in-url",
        says="Tabs and ends of lines within a URL are removed.",
        source=f"{URL} Basic URL parser",
        markup='<p><a href="/line-end\n-in\t-url">Lines</a></p>',
        leads_to=("/line-end-in-url",),
    ),
)


@trial("finding")
def attributes(web: Web) -> Trial:
    """How attributes are written."""
    site = web.site()
    return Trial(seed=site.url(), seconds=FEW_PAGES, cases=on_one_page(site, _ATTRIBUTES))
