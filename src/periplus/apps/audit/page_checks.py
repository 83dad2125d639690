"""The checks of single pages, each with the texts of its finding: headings, head, links, images, structured data.

A check yields a place for every fault; a page counts once for a finding. Precision comes first: what a page can have
for a good reason is not a fault, and what only scripts could tell is left alone.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8, getincrementaldecoder
from collections.abc import Iterator
from itertools import pairwise
from operator import attrgetter
from typing import Final

from periplus.content.charset import sniff_charset
from periplus.content.scan import ListedTag
from periplus.view.findings import Severity

from .audited_page import DECLARED, PAGE_NUMBER, AuditedPage, FaultPlace, cut, page_check
from .languages import other_language, wrong_code, wrong_language
from .results import Area
from .structured_data import ITEM, DataFault, json_faults, markup_faults

E, W, N = Severity.ERROR, Severity.WARNING, Severity.NOTICE
PAGES, LINKS, MEDIA, DATA, SAFETY = Area.PAGES, Area.LINKS, Area.MEDIA, Area.DATA, Area.SAFETY
_START: Final = attrgetter("start")
_HEADINGS: Final = ("h1", "h2", "h3", "h4", "h5", "h6")


def _value(tag: ListedTag, name: str) -> str:
    return (tag.attributes.get(name) or "").strip()


def _written(tag: ListedTag, *names: str) -> str:
    """A tag as the page has it, with some of its attributes."""
    return f"<{tag.name}{''.join(f' {name}={cut(_value(tag, name))}' for name in names if _value(tag, name))}>"


def _first(page: AuditedPage, *names: str) -> int:
    """The line of the first tag of some names; the first line if there is none."""
    return min((tag.line for tag in page.named(*names)), default=1)


# ---- headings and titles


@page_check(
    PAGES, "h1-missing", W, "Pages without an h1",
    "The main heading tells visitors, screen readers and search engines what the page is about.",
    "Give every page one <h1> with its subject.",
    fault="<h2>Apple pie</h2>", fix="<h1>Apple pie</h1>",
)  # fmt: skip
def _h1_missing(page: AuditedPage) -> Iterator[FaultPlace]:
    if "h1" not in page.by_name and "frame" not in page.by_name and b"<frameset" not in page.html[:4000].lower():
        yield FaultPlace(_first(page, *_HEADINGS), "no <h1>")


@page_check(
    PAGES, "h1-empty", W, "Pages with an empty h1",
    "Screen readers announce a heading that has no text.",
    "Write the subject of the page into the <h1>, or give the picture in it an alt text.",
    fault="<h1></h1>", fix="<h1>Apple pie</h1>",
    needs="h1",
)  # fmt: skip
def _h1_empty(page: AuditedPage) -> Iterator[FaultPlace]:
    return (FaultPlace(tag.line, "<h1> without text") for tag in page.named("h1") if not tag.is_named)


@page_check(
    PAGES, "h1-several", N, "Pages with several h1",
    "It is unclear which of them is the subject of the page.",
    "Keep one <h1>, and make the others <h2>.",
    fault="<h1>Pies</h1> ... <h1>Apple pie</h1>", fix="<h1>Pies</h1> ... <h2>Apple pie</h2>",
    needs="h1",
)  # fmt: skip
def _h1_several(page: AuditedPage) -> Iterator[FaultPlace]:
    shown = [tag for tag in page.named("h1") if tag.is_named]
    return (FaultPlace(tag.line, f"<h1>{cut(page.text_of(tag))}") for tag in shown[1:])


@page_check(
    PAGES, "headings-skip", N, "Pages whose headings skip a level",
    "Screen readers navigate by levels; a missing one looks like a missing part.",
    "Let each heading be at most one level below the one before it.",
    fault="<h2>Fillings</h2> ... <h4>Apples</h4>", fix="<h2>Fillings</h2> ... <h3>Apples</h3>",
    needs="h3 h4 h5 h6",
)  # fmt: skip
def _headings_skip(page: AuditedPage) -> Iterator[FaultPlace]:
    headings = sorted(page.named(*_HEADINGS), key=_START)
    for before, after in pairwise(headings):
        if int(after.name[1]) > int(before.name[1]) + 1:
            yield FaultPlace(after.line, f"<{after.name}>{cut(page.text_of(after))} after <{before.name}>")


_SHORT_TITLE: Final = 10
_SHORT_WIDE_TITLE: Final = 4
"""Characters of scripts without letters: one is a word."""
_WIDE: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


@page_check(
    PAGES, "title-short", N, "Titles shorter than 10 characters",
    "Searchers cannot tell from a single word whether this is the page they want.",
    "Name the subject of the page and the site.",
    fault="<title>Home</title>", fix="<title>Home - Bakery Miller, Berlin</title>",
    needs="title",
)  # fmt: skip
def _title_short(page: AuditedPage) -> Iterator[FaultPlace]:
    for tag in page.by_name.get("title", ())[:1]:
        text = page.text_of(tag)
        if 0 < len(text) < (_SHORT_WIDE_TITLE if _WIDE.search(text) else _SHORT_TITLE):
            yield FaultPlace(tag.line, text)


@page_check(
    PAGES, "title-several", W, "Pages with several titles",
    "Browsers show the first one; search engines may pick any.",
    "Keep one <title> in the head.",
    fault="<title>Pies</title><title>Apple pie</title>", fix="<title>Apple pie</title>",
    needs="title",
)  # fmt: skip
def _title_several(page: AuditedPage) -> Iterator[FaultPlace]:
    return (FaultPlace(tag.line, f"<title>{cut(page.text_of(tag))}") for tag in page.by_name.get("title", ())[1:])


_SHORT_DESCRIPTION: Final = 20


@page_check(
    PAGES, "description-short", N, "Descriptions shorter than 20 characters",
    "Search engines ignore a description that says nothing and pick their own text.",
    "Describe the page in a sentence or two.",
    fault='<meta name="description" content="A pie.">',
    fix='<meta name="description" content="How to bake an apple pie with a lattice top, in 40 minutes.">',
    needs="description",
)  # fmt: skip
def _description_short(page: AuditedPage) -> Iterator[FaultPlace]:
    for line, text in page.metas.get("description", ())[:1]:
        if 0 < len(text) < (_SHORT_WIDE_TITLE if _WIDE.search(text) else _SHORT_DESCRIPTION):
            yield FaultPlace(line, text)


@page_check(
    PAGES, "description-several", N, "Pages with several descriptions",
    "Search engines may show any of them.",
    "Keep one <meta name=description>.",
    fault='<meta name="description" content="Pies"> <meta name="description" content="Apple pie">',
    fix='<meta name="description" content="Apple pie">',
    needs="description",
)  # fmt: skip
def _description_several(page: AuditedPage) -> Iterator[FaultPlace]:
    return (FaultPlace(line, cut(text)) for line, text in page.metas.get("description", ())[1:])


# ---- canonical URLs

_PAGE_NUMBER: Final = re.compile(PAGE_NUMBER, re.IGNORECASE)
_NAMES_HOST: Final = re.compile(r"(?:https?:)?//", re.IGNORECASE)


def _canonicals(page: AuditedPage) -> list[tuple[ListedTag, str]]:
    return [(tag, _value(tag, "href")) for tag in page.related("canonical")]


@page_check(
    PAGES, "canonical-several", E, "Pages with several canonical URLs",
    "If they disagree, search engines ignore all of them.",
    "Keep one <link rel=canonical>; often a plugin and the theme each add their own.",
    fault='<link rel="canonical" href="/a"> <link rel="canonical" href="/b">', fix='<link rel="canonical" href="/a">',
    of_all=True,
    needs="canonical",
)  # fmt: skip
def _canonical_several(page: AuditedPage) -> Iterator[FaultPlace]:
    found = _canonicals(page)
    urls = page.resolved([href for _, href in found])
    for (tag, href), url in zip(found[1:], urls[1:], strict=True):
        if tag.line or url != urls[0]:  # a header may repeat what the head says
            yield FaultPlace(tag.line, cut(href), "the same" if href == found[0][1] else "different")


@page_check(
    PAGES, "canonical-protocol", E, "Canonical URLs with another protocol, or that are no URLs",
    "The canonical URL cannot be opened by visitors and crawlers, or is the insecure version of the page.",
    "Use the protocol of the site, https:// if available.",
    fault='<link rel="canonical" href="file:///srv/www/pie.html">',
    fix='<link rel="canonical" href="https://example.org/pie.html">',
    of_all=True,
    needs="canonical",
)  # fmt: skip
def _canonical_protocol(page: AuditedPage) -> Iterator[FaultPlace]:
    for tag, href in _canonicals(page):
        scheme = href.partition(":")[0].lower() if re.match(r"[a-zA-Z][a-zA-Z0-9+.-]{0,20}:(?!\d)", href) else ""
        if scheme and scheme not in ("http", "https"):
            yield FaultPlace(tag.line, cut(href), f"{scheme}:")
        elif scheme == "http" and page.is_secure and href[7:].startswith(page.origin[8:] + "/"):
            yield FaultPlace(tag.line, cut(href), "http: on a page of https:")
        elif _NAMES_HOST.match(href) and page.resolved([href]) == [None]:
            yield FaultPlace(tag.line, cut(href), "no URL")


@page_check(
    PAGES, "canonical-in-body", W, "Canonical URLs outside the head",
    "Search engines ignore a canonical URL in the body, where anyone who posts a comment could set it.",
    "Move <link rel=canonical> into the head; check whether another element closes the head too early.",
    fault='<body><link rel="canonical" href="/a">', fix='<head>...<link rel="canonical" href="/a"></head>',
    of_all=True,
    needs="canonical",
)  # fmt: skip
def _canonical_in_body(page: AuditedPage) -> Iterator[FaultPlace]:
    body = _body_start(page)
    return (FaultPlace(tag.line, cut(href)) for tag, href in _canonicals(page) if tag.start > body)


def _body_start(page: AuditedPage) -> int:
    """Where the first tag of the body is, which ends the head."""
    firsts = (page.by_name[name][0] for name in ("body", *_HEADINGS, "a", "img", "form") if name in page.by_name)
    return min((tag.start for tag in firsts if not tag.is_in_noscript), default=len(page.html))


@page_check(
    PAGES, "canonical-relative", N, "Canonical URLs without a full URL",
    "A relative URL leads elsewhere on a test server or after a wrong <base>, and search engines advise against it.",
    "Write the URL with https:// and the host.",
    fault='<link rel="canonical" href="/pie">', fix='<link rel="canonical" href="https://example.org/pie">',
    sure="certain; left out where most pages are written like that", is_relative=True,
    needs="canonical",
)  # fmt: skip
def _canonical_relative(page: AuditedPage) -> Iterator[FaultPlace]:
    for tag, href in _canonicals(page):
        if href and not re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//", href):
            yield FaultPlace(tag.line, cut(href))


@page_check(
    PAGES, "head-in-body", W, "Titles, descriptions, robots or hreflang outside the head",
    "Search engines may ignore them there; often another element has closed the head too early.",
    "Move them into the head, before the first element that visitors see.",
    fault='<body><title>Apple pie</title>', fix="<head><title>Apple pie</title></head>",
    of_all=True,
)  # fmt: skip
def _head_in_body(page: AuditedPage) -> Iterator[FaultPlace]:
    body = _body_start(page)
    for tag in page.named("title", "meta", "link"):
        if tag.start > body and not tag.is_in_noscript:
            name = "title" if tag.name == "title" else _value(tag, "name").lower()
            if name in ("title", "description", "robots"):
                yield FaultPlace(
                    tag.line, f"<title>{cut(page.text_of(tag))}" if name == "title" else f"meta {name}", name
                )
            elif _value(tag, "hreflang") and "alternate" in _value(tag, "rel").lower().split():
                yield FaultPlace(tag.line, _written(tag, "hreflang", "href"), "hreflang")


@page_check(
    PAGES, "canonical-fragment", N, "Canonical URLs with a fragment",
    "A fragment is a place within a page; search engines drop it, or ignore the canonical URL.",
    "Remove the # and what follows it.",
    fault='<link rel="canonical" href="/pie#top">', fix='<link rel="canonical" href="/pie">',
    needs="canonical",
)  # fmt: skip
def _canonical_fragment(page: AuditedPage) -> Iterator[FaultPlace]:
    return (FaultPlace(tag.line, cut(href)) for tag, href in _canonicals(page) if "#" in href and "#!" not in href)


@page_check(
    PAGES, "canonical-first-page", W, "Later pages of a list with the first page as canonical URL",
    "Later pages are not copies of the first; what only they link to may drop out of search results.",
    "Let each page of the list name itself as canonical.",
    fault='<link rel="canonical" href="/pies"> on /pies?page=2', fix='<link rel="canonical" href="/pies?page=2">',
    of_all=True,
    needs="canonical",
)  # fmt: skip
def _canonical_first_page(page: AuditedPage) -> Iterator[FaultPlace]:
    number = _PAGE_NUMBER.search(page.url)
    found = _canonicals(page) if number else []
    if number is None or len(found) != 1:
        return
    [target] = page.resolved([found[0][1]])
    start = page.url[: number.start()].rstrip("/")
    if target and not _PAGE_NUMBER.search(target) and target.rstrip("/").partition("?")[0] == start.partition("?")[0]:
        yield FaultPlace(found[0][0].line, f"canonical {cut(target)}")


# ---- languages


def _alternates(page: AuditedPage) -> list[tuple[ListedTag, str]]:
    return [(tag, code) for tag in page.related("alternate") if (code := _value(tag, "hreflang"))]


@page_check(
    PAGES, "hreflang-code", E, "hreflang codes that do not exist",
    "Search engines ignore a version whose language or country they do not know.",
    "Use an ISO 639-1 language code, with an ISO 3166-1 country code if needed: en-GB, not en-UK.",
    fault='<link rel="alternate" hreflang="en-UK" href="/uk/">',
    fix='<link rel="alternate" hreflang="en-GB" href="/uk/">',
    needs="alternate",
)  # fmt: skip
def _hreflang_code(page: AuditedPage) -> Iterator[FaultPlace]:
    for tag, code in _alternates(page):
        if wrong := wrong_code(code):
            yield FaultPlace(tag.line, f"{cut(code)}: {wrong}", code.lower()[:20])


@page_check(
    PAGES, "hreflang-no-default", N, "Pages with hreflang links, but without x-default",
    "For speakers of other languages, the search engine has to guess which version to show.",
    "Add <link rel=alternate hreflang=x-default> for the version that everyone else should get.",
    fault='<link rel="alternate" hreflang="en" href="/en/"> <link rel="alternate" hreflang="de" href="/de/">',
    fix='... <link rel="alternate" hreflang="x-default" href="/en/">',
    is_relative=True,
    needs="alternate",
)  # fmt: skip
def _hreflang_no_default(page: AuditedPage) -> Iterator[FaultPlace]:
    found = _alternates(page)
    codes = {code.lower() for _, code in found}
    if len(codes) > 1:
        page.groups.append("hreflang")
        if "x-default" not in codes:
            yield FaultPlace(found[0][0].line, f"only {', '.join(sorted(codes)[:8])}", group="hreflang")


@page_check(
    PAGES, "hreflang-no-self", W, "Pages whose hreflang links leave out the page itself",
    "Search engines ignore hreflang links that do not include the page they are on.",
    "Let every version link to all versions, including itself.",
    fault='<link rel="alternate" hreflang="de" href="/de/"> alone, on /en/',
    fix='<link rel="alternate" hreflang="de" href="/de/"> <link rel="alternate" hreflang="en" href="/en/">',
    needs="alternate",
)  # fmt: skip
def _hreflang_no_self(page: AuditedPage) -> Iterator[FaultPlace]:
    found = _alternates(page)
    if len(found) > 1 or (found and not page.related("canonical")):
        own = {page.url, *(url for url in page.resolved([href for _, href in _canonicals(page)]) if url)}
        targets = page.resolved([_value(tag, "href") for tag, _ in found])
        if None not in targets and not own & {str(url) for url in targets}:
            yield FaultPlace(found[0][0].line, "no hreflang link to the page itself")


@page_check(
    PAGES, "hreflang-conflict", W, "Pages with two targets for one hreflang code",
    "Search engines cannot tell which of them is the version in that language.",
    "Give one URL for each code.",
    fault='<link rel="alternate" hreflang="de" href="/de/"> <link rel="alternate" hreflang="de" href="/at/">',
    fix='<link rel="alternate" hreflang="de" href="/de/"> <link rel="alternate" hreflang="de-AT" href="/at/">',
    needs="alternate",
)  # fmt: skip
def _hreflang_conflict(page: AuditedPage) -> Iterator[FaultPlace]:
    targets: dict[str, str] = {}
    for tag, code in _alternates(page):
        href = _value(tag, "href")
        if targets.setdefault(code.lower(), href) != href:
            yield FaultPlace(tag.line, f"{cut(code)}: {cut(targets[code.lower()])} and {cut(href)}")


@page_check(
    PAGES, "lang-missing", W, "Pages that do not declare their language",
    "Screen readers may use the wrong pronunciation, and browsers may offer a wrong translation.",
    "Declare the language in the first tag: <html lang=en>.",
    fault="<html>", fix='<html lang="en">',
)  # fmt: skip
def _lang_missing(page: AuditedPage) -> Iterator[FaultPlace]:
    if not any(_value(tag, name) for tag in page.named("html", "body") for name in ("lang", "xml:lang")):
        yield FaultPlace(_first(page, "html"), "no lang attribute")


def _declared(page: AuditedPage) -> tuple[int, str]:
    for tag in page.named("html", "body"):
        if declared := _value(tag, "lang") or _value(tag, "xml:lang"):
            return tag.line, declared
    return 1, ""


@page_check(
    PAGES, "lang-code", W, "Pages with a language code that does not exist",
    "Browsers and screen readers ignore it.",
    "Use a language code such as en or pt-BR.",
    fault='<html lang="english">', fix='<html lang="en">',
)  # fmt: skip
def _lang_code(page: AuditedPage) -> Iterator[FaultPlace]:
    line, declared = _declared(page)
    if declared and (wrong := wrong_language(declared)):
        yield FaultPlace(line, f"{cut(declared)}: {wrong}", declared.lower()[:20])


_SAMPLE: Final = 1600
"""Bytes of text that are looked at: over a hundred words."""


@page_check(
    PAGES, "lang-mismatch", W, "Pages in another language than they declare",
    "Screen readers pronounce the text wrongly, and search engines show it to the wrong visitors.",
    "Declare the language of the text; check whether a template hard-codes it.",
    fault='<html lang="en"> ... <p>Dieser Kuchen wird mit Äpfeln gebacken', fix='<html lang="de">',
    sure="certain for the languages with lists of common words, and for scripts",
)  # fmt: skip
def _lang_mismatch(page: AuditedPage) -> Iterator[FaultPlace]:
    line, declared = _declared(page)
    if declared and (other := other_language(declared, page.sample[:_SAMPLE])):
        yield FaultPlace(line, f"lang={cut(declared)}, but the text is {other}", other)


# ---- devices


@page_check(
    PAGES, "viewport-missing", W, "Pages without a viewport",
    "Phones show the page as on a large screen, in tiny print, and search engines rank it lower.",
    "Add <meta name=viewport content='width=device-width, initial-scale=1'>.",
    fault="<head> without a viewport", fix='<meta name="viewport" content="width=device-width, initial-scale=1">',
)  # fmt: skip
def _viewport_missing(page: AuditedPage) -> Iterator[FaultPlace]:
    scripts = (page.html[tag.start : tag.end] for tag in page.named("script"))
    if not any(content for _, content in page.metas.get("viewport", ())) and not any(b"viewport" in x for x in scripts):
        yield FaultPlace(_first(page, "meta", "title"), "no <meta name=viewport>")


@page_check(
    PAGES, "viewport-scaling", N, "Pages that cannot be zoomed, or have a fixed width",
    "Visitors with poor eyesight cannot enlarge the text.",
    "Remove user-scalable=no, maximum-scale and fixed widths.",
    fault='<meta name="viewport" content="width=1024, user-scalable=no">',
    fix='<meta name="viewport" content="width=device-width, initial-scale=1">',
    needs="viewport",
)  # fmt: skip
def _viewport_scaling(page: AuditedPage) -> Iterator[FaultPlace]:
    for line, content in page.metas.get("viewport", ()):
        parts = dict(
            part.partition("=")[::2] for part in re.split(r"[,;\s]+", re.sub(r"\s*=\s*", "=", content.lower()))
        )
        scale = parts.get("maximum-scale", "")
        is_fixed = parts.get("user-scalable") in ("no", "0") or (scale[:1].isdigit() and float(_number(scale)) < 2)
        if is_fixed or parts.get("width", "").isdigit():
            yield FaultPlace(line, cut(content))


def _number(text: str) -> str:
    found = re.match(r"\d{1,6}(?:\.\d{1,6})?", text)
    return found[0] if found else "9"


@page_check(
    PAGES, "charset-missing", W, "Pages with special characters that do not declare their encoding",
    "Browsers have to guess, and some visitors see garbled characters.",
    "Add <meta charset=utf-8> at the start of the head, or send the charset in Content-Type.",
    fault="<head><title>Crème brûlée</title>", fix='<head><meta charset="utf-8"><title>Crème brûlée</title>',
    of_all=True,
)  # fmt: skip
def _charset_missing(page: AuditedPage) -> Iterator[FaultPlace]:
    if page.html.isascii() or "charset" in page.headers.get("content-type", "").lower():
        return
    if not page.body.startswith(BOM_UTF8) and not any(
        "charset" in tag.attributes or "charset" in _value(tag, "content").lower() for tag in page.named("meta")
    ) and b"<?xml" not in page.html[:100]:  # fmt: skip
        yield FaultPlace(1, "neither <meta charset> nor a charset in Content-Type")


@page_check(
    PAGES, "charset-wrong", W, "Pages in another encoding than they declare",
    "Visitors see garbled characters, and search engines index them.",
    "Save the page in UTF-8, and declare that in <meta charset=utf-8> and in Content-Type.",
    fault="Content-Type: text/html; charset=utf-8, and the page is in ISO 8859-1",
    fix="Content-Type: text/html; charset=utf-8, and the page is in UTF-8",
    of_all=True,
)  # fmt: skip
def _charset_wrong(page: AuditedPage) -> Iterator[FaultPlace]:
    declared = sniff_charset(page.body, page.headers.get("content-type"))
    if declared.source == "guess" or declared.encoding.startswith("UTF-16") or page.body.isascii():
        return
    try:
        getincrementaldecoder("utf-8")().decode(page.body)  # of a page that was cut off, the last character may be
        is_utf8 = True
    except UnicodeDecodeError:
        is_utf8 = False
    if is_utf8 != (declared.encoding == "UTF-8"):
        yield FaultPlace(1, f"declared as {declared.encoding}, but {'UTF-8' if is_utf8 else 'with other bytes'}")


@page_check(
    PAGES, "doctype-missing", N, "Pages without a doctype",
    "Browsers fall back to quirks mode, the layout rules of the 1990s.",
    "Start every page with <!doctype html>.",
    fault="<html><head>...", fix="<!doctype html><html><head>...",
)  # fmt: skip
def _doctype_missing(page: AuditedPage) -> Iterator[FaultPlace]:
    if b"<!doctype" not in page.html[:3000].lower():
        yield FaultPlace(1, "no <!doctype html>")


@page_check(
    PAGES, "meta-refresh", W, "Pages that reload or redirect by a meta refresh",
    "Visitors lose their place or cannot go back, and search engines see a slow redirect.",
    "Redirect with status 301, or let a script update the part that changes.",
    fault='<meta http-equiv="refresh" content="5; url=/new">', fix="HTTP/1.1 301 Moved Permanently",
    of_all=True,
    needs="refresh",
)  # fmt: skip
def _meta_refresh(page: AuditedPage) -> Iterator[FaultPlace]:
    return (FaultPlace(line, cut(content)) for line, content in page.metas.get("refresh", ()) if content)


@page_check(
    PAGES, "nofollow-pages", N, "Pages marked nofollow",
    "Crawlers do not follow any link of the page, so pages that only it links to are not found.",
    "Remove nofollow from <meta name=robots>; mark single links instead.",
    fault='<meta name="robots" content="index, nofollow">', fix='<meta name="robots" content="index">',
    needs="robots",
)  # fmt: skip
def _nofollow_pages(page: AuditedPage) -> Iterator[FaultPlace]:
    for line, content in page.metas.get("robots", ()):
        if "nofollow" in content.lower().replace(",", " ").split():
            yield FaultPlace(line, f"robots: {cut(content)}")


@page_check(
    PAGES, "placeholder-text", W, "Pages with placeholder text (lorem ipsum)",
    "Visitors see that the page is not finished, and search engines index text without meaning.",
    "Write the text, or keep the page out of search until it is there.",
    fault="<p>Lorem ipsum dolor sit amet, consectetur...", fix="<p>Our pies are baked every morning.",
    sure="certain, unless the page is about such texts",
)  # fmt: skip
def _placeholder_text(page: AuditedPage) -> Iterator[FaultPlace]:
    place = page.html.find(b"orem ipsum dolor sit amet")
    if place >= 0:
        yield FaultPlace(page.html.count(b"\n", 0, place) + 1, "lorem ipsum dolor sit amet")


# ---- cards

_CARDS: Final = frozenset({"summary", "summary_large_image", "app", "player"})
_GRAPH: Final = ("og:title", "og:type", "og:image", "og:url")


@page_check(
    PAGES, "og-missing", N, "Pages without Open Graph properties, which other pages of the site have",
    "Social networks and messengers choose the title and picture of a shared link themselves.",
    "Add og:title, og:type, og:image and og:url.",
    fault="<head> without og: properties",
    fix='<meta property="og:title" content="Apple pie"> <meta property="og:image" content="https://example.org/p.jpg">',
    is_relative=True,
)  # fmt: skip
def _og_missing(page: AuditedPage) -> Iterator[FaultPlace]:
    if not any(name in page.metas for name in ("og:title", "og:image", "og:url", "og:type", "og:description")):
        yield FaultPlace(_first(page, "title", "meta"), "no og: properties")


@page_check(
    PAGES, "og-incomplete", N, "Pages with incomplete Open Graph properties",
    "Previews of shared links lack these details.",
    "Add them: og:title, og:type, og:image and og:url are required.",
    fault='<meta property="og:title" content="Apple pie">',
    fix='... <meta property="og:image" content="https://example.org/pie.jpg">',
    is_relative=True,
    needs="og:title og:type og:image og:url og:description",
)  # fmt: skip
def _og_incomplete(page: AuditedPage) -> Iterator[FaultPlace]:
    if not any(name in page.metas for name in (*_GRAPH, "og:description")):
        return
    page.groups.append("og")
    for name in _GRAPH:
        if not any(content for _, content in page.metas.get(name, ())):
            yield FaultPlace(_first(page, "title", "meta"), f"no {name}", name, "og")


@page_check(
    PAGES, "twitter-card-missing", N, "Pages without a Twitter card, which other pages of the site have",
    "X shows a shared link without a preview.",
    'Add <meta name="twitter:card" content="summary_large_image">.',
    fault="<head> without twitter:card", fix='<meta name="twitter:card" content="summary">',
    is_relative=True,
)  # fmt: skip
def _twitter_card_missing(page: AuditedPage) -> Iterator[FaultPlace]:
    if "twitter:card" not in page.metas:
        yield FaultPlace(_first(page, "title", "meta"), "no twitter:card")


@page_check(
    PAGES, "twitter-card-invalid", W, "Twitter cards of an unknown type",
    "The card is ignored.",
    "Use summary, summary_large_image, app or player.",
    fault='<meta name="twitter:card" content="large">', fix='<meta name="twitter:card" content="summary_large_image">',
    needs="twitter:card",
)  # fmt: skip
def _twitter_card_invalid(page: AuditedPage) -> Iterator[FaultPlace]:
    for line, content in page.metas.get("twitter:card", ()):
        if content.lower() not in _CARDS:
            yield FaultPlace(line, f"twitter:card is {cut(content) or 'empty'}")


@page_check(
    PAGES, "card-image-relative", W, "Open Graph and Twitter images that are empty or not a full URL",
    "Social networks do not resolve relative URLs, so the preview has no picture.",
    "Write the URL with https:// and the host.",
    fault='<meta property="og:image" content="/pie.jpg">',
    fix='<meta property="og:image" content="https://example.org/pie.jpg">',
    needs="og:image twitter:image",
)  # fmt: skip
def _card_image_relative(page: AuditedPage) -> Iterator[FaultPlace]:
    for name in ("og:image", "twitter:image"):
        for line, content in page.metas.get(name, ()):
            if not re.match(r"https?://", content, re.IGNORECASE):
                yield FaultPlace(line, f"{name} is {cut(content) or 'empty'}")


# ---- structured data


def _data(page: AuditedPage) -> list[tuple[int, DataFault]]:
    """All faults of the structured data of a page, each with its line; read once."""
    found: list[tuple[int, DataFault]] | None = page.memo.get("data")
    if found is None:
        found = page.memo["data"] = []
        for tag in page.named("script"):
            if "ld+json" in _value(tag, "type").lower():
                found += ((tag.line, fault) for fault in json_faults(page.html[tag.start : tag.end]))
        if page.has_items and b"schema.org" in page.html:
            found += markup_faults(page.html)
        page.groups += {f"data {fault.type}" for _, fault in found if fault.finding == ITEM}
    return found


def _data_places(page: AuditedPage, name: str) -> Iterator[FaultPlace]:
    return (FaultPlace(line, cut(fault.detail), fault.type) for line, fault in _data(page) if fault.finding == name)


@page_check(
    DATA, "data-syntax", E, "Pages with structured data that cannot be read",
    "Search engines discard the whole block, and show no rich result.",
    "Generate the block with a JSON library, not a text template; check commas and quotation marks.",
    fault='{"@context": "https://schema.org", "@type": "Recipe", "name": "Apple pie",}',
    fix='{"@context": "https://schema.org", "@type": "Recipe", "name": "Apple pie"}',
    needs="structured-data",
)  # fmt: skip
def _data_syntax(page: AuditedPage) -> Iterator[FaultPlace]:
    return _data_places(page, "data-syntax")


@page_check(
    DATA, "data-context", W, "Pages with JSON-LD without a context",
    "Without @context the names are undefined, and the block is ignored.",
    'Add "@context": "https://schema.org".',
    fault='{"@type": "Recipe", "name": "Apple pie"}', fix='{"@context": "https://schema.org", "@type": "Recipe", ...}',
    needs="structured-data",
)  # fmt: skip
def _data_context(page: AuditedPage) -> Iterator[FaultPlace]:
    return _data_places(page, "data-context")


@page_check(
    DATA, "data-type-missing", W, "Pages with items of structured data without a type",
    "Search engines cannot tell what the item is, and ignore it.",
    "Add @type (JSON-LD), itemtype (microdata) or typeof (RDFa).",
    fault='{"@context": "https://schema.org", "name": "Apple pie"}',
    fix='{"@context": "https://schema.org", "@type": "Recipe", "name": "Apple pie"}',
    needs="structured-data",
)  # fmt: skip
def _data_type_missing(page: AuditedPage) -> Iterator[FaultPlace]:
    return _data_places(page, "data-type-missing")


@page_check(
    DATA, "data-type-unknown", E, "Pages with types of structured data that schema.org does not have",
    "Search engines ignore an item of a type that does not exist.",
    "Spell the type as schema.org does, including capital letters.",
    fault='"@type": "Recepie"', fix='"@type": "Recipe"',
    needs="structured-data",
)  # fmt: skip
def _data_type_unknown(page: AuditedPage) -> Iterator[FaultPlace]:
    return _data_places(page, "data-type-unknown")


@page_check(
    DATA, "data-required", E, "Pages with structured data that lacks a required property",
    "Search engines show no rich result for such an item.",
    "Add the property, or remove the item.",
    fault='{"@type": "Event", "name": "Baking course"}',
    fix='{"@type": "Event", "name": "Baking course", "startDate": "2026-05-02", "location": {...}}',
    sure="certain for Google's rich results; other readers ask for less",
    needs="structured-data",
)  # fmt: skip
def _data_required(page: AuditedPage) -> Iterator[FaultPlace]:
    return _data_places(page, "data-required")


@page_check(
    DATA, "data-recommended", N, "Pages with structured data that lacks a recommended property",
    "The rich result shows less, or appears less often.",
    "Add the property where you know it.",
    fault='{"@type": "Article", "headline": "Apple pie"}',
    fix='{"@type": "Article", "headline": "Apple pie", "author": {...}, "datePublished": "2026-05-02"}',
    sure="certain for Google's rich results; other readers ask for less", is_relative=True,
    needs="structured-data",
)  # fmt: skip
def _data_recommended(page: AuditedPage) -> Iterator[FaultPlace]:
    for line, fault in _data(page):
        if fault.finding == "data-recommended":
            yield FaultPlace(line, cut(fault.detail), fault.detail, f"data {fault.type}")


@page_check(
    DATA, "data-values", W, "Pages with unreadable dates or numbers in structured data",
    "The property counts as missing.",
    "Write dates as 2026-05-02 or 2026-05-02T18:00:00+02:00, and prices as 12.50 without a currency.",
    fault='"datePublished": "May 2nd", "price": "$12,50"', fix='"datePublished": "2026-05-02", "price": "12.50"',
    needs="structured-data",
)  # fmt: skip
def _data_values(page: AuditedPage) -> Iterator[FaultPlace]:
    return _data_places(page, "data-values")


# ---- images and files

_MANY_IMAGES: Final = 12
"""Images of a page above which some are surely below the first screen."""


def _images(page: AuditedPage) -> list[ListedTag]:
    """Pictures that visitors see: no counting pixels, no copies for browsers without scripts."""
    found: list[ListedTag] | None = page.memo.get("images")
    if found is None:
        found = page.memo["images"] = [
            tag
            for tag in page.by_name.get("img", ())
            if not tag.is_in_noscript
            and (_value(tag, "src") or _value(tag, "srcset") or _value(tag, "data-src"))
            and not (_value(tag, "width") in ("0", "1") and _value(tag, "height") in ("0", "1"))
        ]
    return found


def _source(tag: ListedTag) -> str:
    return cut(_value(tag, "src") or _value(tag, "data-src") or _value(tag, "srcset"))


@page_check(
    MEDIA, "image-source-empty", W, "Pages with images that have an empty src",
    "Visitors see a gap, and some browsers request the page itself once more.",
    "Name the image in src, or remove the element.",
    fault='<img src="" alt="Apple pie">', fix='<img src="pie.jpg" alt="Apple pie">',
    sure="certain, unless a script fills it in",
    needs="img",
)  # fmt: skip
def _image_source_empty(page: AuditedPage) -> Iterator[FaultPlace]:
    for tag in page.named("img"):
        others = any(name.startswith("data-") or name in ("srcset", ":src", "v-bind:src") for name in tag.attributes)
        if "src" in tag.attributes and not _value(tag, "src") and not others:
            yield FaultPlace(tag.line, _written(tag, "alt", "class"))


@page_check(
    MEDIA, "image-alt-missing", W, "Pages with images without alt",
    "Screen readers read out the file name, and image search has nothing to go on.",
    'Describe the image in alt; use alt="" if it is purely decorative.',
    fault='<img src="pie.jpg">', fix='<img src="pie.jpg" alt="Apple pie with a lattice top">',
    needs="img",
)  # fmt: skip
def _image_alt_missing(page: AuditedPage) -> Iterator[FaultPlace]:
    for tag in _images(page):
        attributes = tag.attributes
        is_named = attributes.keys() & {"alt", "aria-label", "aria-labelledby", "aria-hidden"}
        if not is_named and _value(tag, "role") not in ("presentation", "none"):
            yield FaultPlace(tag.line, _source(tag))


@page_check(
    MEDIA, "image-size-missing", N, "Pages with images without width and height",
    "The text jumps while the page loads (layout shift), which search engines count against it.",
    "Set width and height in the tag; style sheets can still scale the image.",
    fault='<img src="pie.jpg" alt="...">', fix='<img src="pie.jpg" width="640" height="480" alt="...">',
    sure="likely: a style sheet may fix the size",
    needs="img",
)  # fmt: skip
def _image_size_missing(page: AuditedPage) -> Iterator[FaultPlace]:
    for tag in _images(page):
        style = _value(tag, "style").lower()
        has_both = _value(tag, "width") and _value(tag, "height")
        is_styled = "aspect-ratio" in style or ("width" in style and "height" in style)
        if not has_both and not is_styled and not _value(tag, "src").startswith("data:"):
            yield FaultPlace(tag.line, _source(tag))


@page_check(
    MEDIA, "images-not-lazy", N, "Pages with many images, none loaded lazily",
    "Visitors download all of them, even those they never scroll to.",
    "Add loading=lazy to images below the first screen.",
    fault='<img src="40.jpg">, forty times', fix='<img src="40.jpg" loading="lazy">',
    sure="certain, unless a script does it",
    needs="img",
)  # fmt: skip
def _images_not_lazy(page: AuditedPage) -> Iterator[FaultPlace]:
    images = _images(page)
    if len(images) > _MANY_IMAGES:
        sources = {_value(tag, "src") for tag in images}
        is_lazy = any(_value(tag, "loading").lower() == "lazy" or _value(tag, "data-src") for tag in images)
        if len(sources) > _MANY_IMAGES and not is_lazy:
            yield FaultPlace(images[_MANY_IMAGES].line, f"{len(sources)} images without loading=lazy")


@page_check(
    MEDIA, "iframe-title-missing", N, "Pages with frames without a title",
    "Screen readers cannot tell users what the frame contains.",
    "Add title to every <iframe> that visitors see.",
    fault='<iframe src="/map">', fix='<iframe src="/map" title="How to find us">',
    needs="iframe",
)  # fmt: skip
def _iframe_title_missing(page: AuditedPage) -> Iterator[FaultPlace]:
    for tag in page.named("iframe"):
        attributes = tag.attributes
        is_hidden = (
            "hidden" in attributes
            or "aria-hidden" in attributes
            or "display:none" in _value(tag, "style").replace(" ", "")
        )
        is_small = _value(tag, "width") in ("0", "1") or _value(tag, "height") in ("0", "1")
        if not (tag.is_in_noscript or is_hidden or is_small or _value(tag, "title") or _value(tag, "aria-label")):
            yield FaultPlace(tag.line, _written(tag, "src"))


# ---- safety

_EMBEDDING: Final = ("img", "script", "iframe", "source", "video", "audio", "embed")


@page_check(
    SAFETY, "mixed-content", E, "Secure pages that embed insecure files",
    "Browsers block them, or mark the page as not secure.",
    "Embed the files over https://.",
    fault='<script src="http://example.org/a.js"> on an https:// page', fix='<script src="https://example.org/a.js">',
    of_all=True,
)  # fmt: skip
def _mixed_content(page: AuditedPage) -> Iterator[FaultPlace]:
    if not page.is_secure or b"http://" not in page.html:
        return
    for tag in page.named(*_EMBEDDING):
        if _value(tag, "src").lower().startswith("http://"):
            yield FaultPlace(tag.line, _written(tag, "src"), tag.name)
    for tag in page.related("stylesheet"):
        if _value(tag, "href").lower().startswith("http://"):
            yield FaultPlace(tag.line, _written(tag, "href"), "style")


_PASSWORD: Final = re.compile(rb"""<input\b[^<>]*\btype\s*=\s*["']?password""", re.IGNORECASE)


@page_check(
    SAFETY, "form-insecure", E, "Pages with forms that submit over http",
    "What visitors enter can be read and changed in transit.",
    "Submit forms to an https:// URL.",
    fault='<form method="post" action="http://example.org/login">',
    fix='<form method="post" action="https://example.org/login">',
    of_all=True,
    needs="form",
)  # fmt: skip
def _form_insecure(page: AuditedPage) -> Iterator[FaultPlace]:
    for tag in page.named("form"):
        action = _value(tag, "action").lower()
        is_insecure = action.startswith("http://") or (not page.is_secure and not action.startswith("https:"))
        is_post = _value(tag, "method").lower() == "post"
        if action.startswith("http://") and (page.is_secure or is_post):
            yield FaultPlace(tag.line, _written(tag, "action", "method"))
        elif is_insecure and _has_password(page, tag):
            yield FaultPlace(tag.line, f"{_written(tag, 'action', 'method')} with a password")


def _has_password(page: AuditedPage, form: ListedTag) -> bool:
    end = page.html.find(b"</form", form.start)
    return _PASSWORD.search(page.html, form.start, end if end >= 0 else len(page.html)) is not None


@page_check(
    SAFETY, "insecure-own-links", N, "Secure pages with links to the insecure version of the site",
    "Each click goes through a redirect, and the first request can be tampered with.",
    "Use https://, or a path.",
    fault='<a href="http://example.org/pies"> on https://example.org/', fix='<a href="/pies">',
    needs="odd-links",
)  # fmt: skip
def _insecure_own_links(page: AuditedPage) -> Iterator[FaultPlace]:
    if page.is_secure and b"http://" in page.html:
        own = f"http://{page.origin[8:]}"
        for tag in page.odd_links:
            href = _value(tag, "href")
            if href.startswith(own) and href[len(own) : len(own) + 1] in ("", "/"):
                yield FaultPlace(tag.line, cut(href))


# ---- links

_MISSPELT: Final = re.compile(
    r"(?:htps?|htpps?|hpptt?s?|ttps?|h{2,}t+ps?|ht{3,}ps?|hts?p|httpss)(?::|//)"
    r"|https?(?:://*(?=https?:)|:(?!//)/?(?=[a-z0-9])|//|;/)"
    r"|www\.[a-z0-9-]+\.[a-z]{2,}",
    re.IGNORECASE,
)
_NO_MAILBOX: Final = re.compile(r"mailto:(?!\?|[^?]*(?:@|%40))", re.IGNORECASE)
"""`mailto:?subject=` is for mails to anybody."""


@page_check(
    LINKS, "empty-links", W, "Pages with links that have no text",
    "Screen readers announce a link without a name, and search engines learn nothing about its target.",
    "Give the link a text, its image an alt text, or add aria-label.",
    fault='<a href="/cart"><i class="icon"></i></a>', fix='<a href="/cart" aria-label="Cart"><i class="icon"></i></a>',
    needs="unnamed-links",
)  # fmt: skip
def _empty_links(page: AuditedPage) -> Iterator[FaultPlace]:
    for tag in page.unnamed_links:
        attributes = tag.attributes
        is_target = "name" in attributes or "id" in attributes
        is_hidden = "aria-hidden" in attributes or attributes.get("tabindex") == "-1" or "hidden" in attributes
        style = (attributes.get("style") or "").replace(" ", "")
        if not (is_target or is_hidden or "display:none" in style):
            yield FaultPlace(tag.line, f"<a href={cut(_value(tag, 'href'))}> without text")


_ANCHOR: Final = re.compile(rb"""<a\s((?>(?:[^<>"']++|"[^"]*+"|'[^']*+')*))>""", re.IGNORECASE)
_QUOTED: Final = re.compile(rb"""=\s*(?:"[^"]*"|'[^']*')""")
_OF_SCRIPT: Final = re.compile(rb"^(?=.*\bonclick\b)(?!.*\b(?:href|role|name|id)\b)", re.IGNORECASE | re.DOTALL)


@page_check(
    LINKS, "javascript-links", N, "Pages with links that only a script follows",
    "Crawlers cannot follow them, and visitors cannot open them in a new tab.",
    "Link to a URL and let a script handle the click; use a <button> for anything that is not a link.",
    fault='<a href="javascript:show(3)">More</a> <a onclick="show(3)">More</a>',
    fix='<a href="/pies?page=3" onclick="show(3)">More</a>',
)  # fmt: skip
def _javascript_links(page: AuditedPage) -> Iterator[FaultPlace]:
    for tag in page.odd_links:
        href = _value(tag, "href")
        if href[:11].lower() == "javascript:" and not _value(tag, "role"):
            yield FaultPlace(tag.line, cut(href))
    for found in _ANCHOR.finditer(page.html) if b"onclick" in page.html else ():
        place = found.start()
        is_text = any(tag.start <= place < tag.end for tag in page.named("script"))
        is_comment = page.html.rfind(b"<!--", 0, place) > page.html.rfind(b"-->", 0, place)
        if _OF_SCRIPT.match(_QUOTED.sub(b" ", found[1])) and not (is_text or is_comment):
            line = page.html.count(b"\n", 0, place) + 1
            yield FaultPlace(line, cut(found[0].decode("utf-8", "replace")), "onclick without href")


@page_check(
    LINKS, "file-links", E, "Pages with links to local files (file:)",
    "file: points to the visitor's own disk, where the file does not exist.",
    "Publish the file and link to its URL.",
    fault='<a href="file:///C:/pies.pdf">', fix='<a href="/files/pies.pdf">',
    needs="odd-links img script iframe",
)  # fmt: skip
def _file_links(page: AuditedPage) -> Iterator[FaultPlace]:
    for tag in (*page.odd_links, *page.named("img", "script", "iframe")):
        target = (tag[2].get("href") or tag[2].get("src") or "").lstrip()
        if target[:5].lower() == "file:" or target[1:3] == ":\\":
            yield FaultPlace(tag.line, cut(target), tag.name)


@page_check(
    LINKS, "malformed-links", E, "Pages with misspelt or empty links",
    "Browsers take a misspelt protocol for something else, often a missing page of this site, and open no other links.",
    "Write https:// in full and a host that can exist, or the address behind mailto: and tel:.",
    fault='<a href="htp://example.org"> <a href="www.example.org">', fix='<a href="https://example.org">',
    needs="odd-links",
)  # fmt: skip
def _malformed_links(page: AuditedPage) -> Iterator[FaultPlace]:
    hrefs = [(tag[2]["href"] or "").strip() for tag in page.odd_links]
    for tag, href, url in zip(page.odd_links, hrefs, page.resolved(hrefs), strict=True):
        if _MISSPELT.match(href):
            yield FaultPlace(tag.line, cut(href))
        elif href.lower() == "tel:" or _NO_MAILBOX.match(href):
            yield FaultPlace(tag.line, cut(href), "without an address")
        elif url is None and _NAMES_HOST.match(href):
            yield FaultPlace(tag.line, cut(href), "no URL")


_LOCAL: Final = re.compile(r"https?://(localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\])(?=[:/]|$)", re.IGNORECASE)


@page_check(
    LINKS, "localhost-links", E, "Pages with links to localhost",
    "The link leads to the visitor's own machine, where the page does not exist.",
    "Replace the address of the test server by a path or the public URL.",
    fault='<a href="http://localhost:3000/pies">Pies</a>', fix='<a href="/pies">Pies</a>',
    sure="certain; links whose text is the address are left alone",
    needs="odd-links img script iframe",
)  # fmt: skip
def _localhost_links(page: AuditedPage) -> Iterator[FaultPlace]:
    own = page.origin.partition("//")[2].rpartition(":")[0] or page.origin.partition("//")[2]
    for tag in (*page.odd_links, *page.named("img", "script", "iframe")):
        target = (tag[2].get("href") or tag[2].get("src") or "").strip()
        found = _LOCAL.match(target)
        if found and found[1].lower() != own and not (tag.name == "a" and found[1] in page.text_of(tag)):
            yield FaultPlace(tag.line, cut(target), tag.name)


PAGE_CHECKS: Final = tuple(DECLARED)
"""All checks of single pages."""
