"""The checks of single pages: headings, head, links, images, structured data. `findings.toml` has their texts.

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

from .audited_page import DECLARED, PAGE_NUMBER, AuditedPage, FaultPlace, cut, page_check
from .languages import other_language, wrong_code, wrong_language
from .structured_data import ITEM, DataFault, json_faults, markup_faults

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


@page_check("h1-missing")
def _h1_missing(page: AuditedPage) -> Iterator[FaultPlace]:
    if "h1" not in page.by_name and "frame" not in page.by_name and b"<frameset" not in page.html[:4000].lower():
        yield FaultPlace(_first(page, *_HEADINGS), "no <h1>")


@page_check("h1-empty", needs="h1")
def _h1_empty(page: AuditedPage) -> Iterator[FaultPlace]:
    return (FaultPlace(tag.line, "<h1> without text") for tag in page.named("h1") if not tag.is_named)


@page_check("h1-several", needs="h1")
def _h1_several(page: AuditedPage) -> Iterator[FaultPlace]:
    shown = [tag for tag in page.named("h1") if tag.is_named]
    return (FaultPlace(tag.line, f"<h1>{cut(page.text_of(tag))}") for tag in shown[1:])


@page_check("headings-skip", needs="h3 h4 h5 h6")
def _headings_skip(page: AuditedPage) -> Iterator[FaultPlace]:
    headings = sorted(page.named(*_HEADINGS), key=_START)
    for before, after in pairwise(headings):
        if int(after.name[1]) > int(before.name[1]) + 1:
            yield FaultPlace(after.line, f"<{after.name}>{cut(page.text_of(after))} after <{before.name}>")


_SHORT_TITLE: Final = 10
_SHORT_WIDE_TITLE: Final = 4
"""Characters of scripts without letters: one is a word."""
_WIDE: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


@page_check("title-short", needs="title")
def _title_short(page: AuditedPage) -> Iterator[FaultPlace]:
    for tag in page.by_name.get("title", ())[:1]:
        text = page.text_of(tag)
        if 0 < len(text) < (_SHORT_WIDE_TITLE if _WIDE.search(text) else _SHORT_TITLE):
            yield FaultPlace(tag.line, text)


@page_check("title-several", needs="title")
def _title_several(page: AuditedPage) -> Iterator[FaultPlace]:
    return (FaultPlace(tag.line, f"<title>{cut(page.text_of(tag))}") for tag in page.by_name.get("title", ())[1:])


_SHORT_DESCRIPTION: Final = 20


@page_check("description-short", needs="description")
def _description_short(page: AuditedPage) -> Iterator[FaultPlace]:
    for line, text in page.metas.get("description", ())[:1]:
        if 0 < len(text) < (_SHORT_WIDE_TITLE if _WIDE.search(text) else _SHORT_DESCRIPTION):
            yield FaultPlace(line, text)


@page_check("description-several", needs="description")
def _description_several(page: AuditedPage) -> Iterator[FaultPlace]:
    return (FaultPlace(line, cut(text)) for line, text in page.metas.get("description", ())[1:])


# ---- canonical URLs

_PAGE_NUMBER: Final = re.compile(PAGE_NUMBER, re.IGNORECASE)
_NAMES_HOST: Final = re.compile(r"(?:https?:)?//", re.IGNORECASE)


def _canonicals(page: AuditedPage) -> list[tuple[ListedTag, str]]:
    return [(tag, _value(tag, "href")) for tag in page.related("canonical")]


@page_check("canonical-several", of_all=True, needs="canonical")
def _canonical_several(page: AuditedPage) -> Iterator[FaultPlace]:
    found = _canonicals(page)
    urls = page.resolved([href for _, href in found])
    for (tag, href), url in zip(found[1:], urls[1:], strict=True):
        if tag.line or url != urls[0]:  # a header may repeat what the head says
            yield FaultPlace(tag.line, cut(href), "the same" if href == found[0][1] else "different")


@page_check("canonical-protocol", of_all=True, needs="canonical")
def _canonical_protocol(page: AuditedPage) -> Iterator[FaultPlace]:
    for tag, href in _canonicals(page):
        scheme = href.partition(":")[0].lower() if re.match(r"[a-zA-Z][a-zA-Z0-9+.-]{0,20}:(?!\d)", href) else ""
        if scheme and scheme not in ("http", "https"):
            yield FaultPlace(tag.line, cut(href), f"{scheme}:")
        elif scheme == "http" and page.is_secure and href[7:].startswith(page.origin[8:] + "/"):
            yield FaultPlace(tag.line, cut(href), "http: on a page of https:")
        elif _NAMES_HOST.match(href) and page.resolved([href]) == [None]:
            yield FaultPlace(tag.line, cut(href), "no URL")


@page_check("canonical-in-body", of_all=True, needs="canonical")
def _canonical_in_body(page: AuditedPage) -> Iterator[FaultPlace]:
    body = _body_start(page)
    return (FaultPlace(tag.line, cut(href)) for tag, href in _canonicals(page) if tag.start > body)


def _body_start(page: AuditedPage) -> int:
    """Where the first tag of the body is, which ends the head."""
    firsts = (page.by_name[name][0] for name in ("body", *_HEADINGS, "a", "img", "form") if name in page.by_name)
    return min((tag.start for tag in firsts if not tag.is_in_noscript), default=len(page.html))


@page_check("canonical-relative", needs="canonical")
def _canonical_relative(page: AuditedPage) -> Iterator[FaultPlace]:
    for tag, href in _canonicals(page):
        if href and not re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//", href):
            yield FaultPlace(tag.line, cut(href))


@page_check("head-in-body", of_all=True)
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


@page_check("canonical-fragment", needs="canonical")
def _canonical_fragment(page: AuditedPage) -> Iterator[FaultPlace]:
    return (FaultPlace(tag.line, cut(href)) for tag, href in _canonicals(page) if "#" in href and "#!" not in href)


@page_check("canonical-first-page", of_all=True, needs="canonical")
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


@page_check("hreflang-code", needs="alternate")
def _hreflang_code(page: AuditedPage) -> Iterator[FaultPlace]:
    for tag, code in _alternates(page):
        if wrong := wrong_code(code):
            yield FaultPlace(tag.line, f"{cut(code)}: {wrong}", code.lower()[:20])


@page_check("hreflang-no-default", needs="alternate")
def _hreflang_no_default(page: AuditedPage) -> Iterator[FaultPlace]:
    found = _alternates(page)
    codes = {code.lower() for _, code in found}
    if len(codes) > 1:
        page.groups.append("hreflang")
        if "x-default" not in codes:
            yield FaultPlace(found[0][0].line, f"only {', '.join(sorted(codes)[:8])}", group="hreflang")


@page_check("hreflang-no-self", needs="alternate")
def _hreflang_no_self(page: AuditedPage) -> Iterator[FaultPlace]:
    found = _alternates(page)
    if len(found) > 1 or (found and not page.related("canonical")):
        own = {page.url, *(url for url in page.resolved([href for _, href in _canonicals(page)]) if url)}
        targets = page.resolved([_value(tag, "href") for tag, _ in found])
        if None not in targets and not own & {str(url) for url in targets}:
            yield FaultPlace(found[0][0].line, "no hreflang link to the page itself")


@page_check("hreflang-conflict", needs="alternate")
def _hreflang_conflict(page: AuditedPage) -> Iterator[FaultPlace]:
    targets: dict[str, str] = {}
    for tag, code in _alternates(page):
        href = _value(tag, "href")
        if targets.setdefault(code.lower(), href) != href:
            yield FaultPlace(tag.line, f"{cut(code)}: {cut(targets[code.lower()])} and {cut(href)}")


@page_check("lang-missing")
def _lang_missing(page: AuditedPage) -> Iterator[FaultPlace]:
    if not any(_value(tag, name) for tag in page.named("html", "body") for name in ("lang", "xml:lang")):
        yield FaultPlace(_first(page, "html"), "no lang attribute")


def _declared(page: AuditedPage) -> tuple[int, str]:
    for tag in page.named("html", "body"):
        if declared := _value(tag, "lang") or _value(tag, "xml:lang"):
            return tag.line, declared
    return 1, ""


@page_check("lang-code")
def _lang_code(page: AuditedPage) -> Iterator[FaultPlace]:
    line, declared = _declared(page)
    if declared and (wrong := wrong_language(declared)):
        yield FaultPlace(line, f"{cut(declared)}: {wrong}", declared.lower()[:20])


_SAMPLE: Final = 1600
"""Bytes of text that are looked at: over a hundred words."""


@page_check("lang-mismatch")
def _lang_mismatch(page: AuditedPage) -> Iterator[FaultPlace]:
    line, declared = _declared(page)
    if declared and (other := other_language(declared, page.sample[:_SAMPLE])):
        yield FaultPlace(line, f"lang={cut(declared)}, but the text is {other}", other)


# ---- devices


@page_check("viewport-missing")
def _viewport_missing(page: AuditedPage) -> Iterator[FaultPlace]:
    scripts = (page.html[tag.start : tag.end] for tag in page.named("script"))
    if not any(content for _, content in page.metas.get("viewport", ())) and not any(b"viewport" in x for x in scripts):
        yield FaultPlace(_first(page, "meta", "title"), "no <meta name=viewport>")


@page_check("viewport-scaling", needs="viewport")
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


@page_check("charset-missing", of_all=True)
def _charset_missing(page: AuditedPage) -> Iterator[FaultPlace]:
    if page.html.isascii() or "charset" in page.headers.get("content-type", "").lower():
        return
    if not page.body.startswith(BOM_UTF8) and not any(
        "charset" in tag.attributes or "charset" in _value(tag, "content").lower() for tag in page.named("meta")
    ) and b"<?xml" not in page.html[:100]:  # fmt: skip
        yield FaultPlace(1, "neither <meta charset> nor a charset in Content-Type")


@page_check("charset-wrong", of_all=True)
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


@page_check("doctype-missing")
def _doctype_missing(page: AuditedPage) -> Iterator[FaultPlace]:
    if b"<!doctype" not in page.html[:3000].lower():
        yield FaultPlace(1, "no <!doctype html>")


@page_check("meta-refresh", of_all=True, needs="refresh")
def _meta_refresh(page: AuditedPage) -> Iterator[FaultPlace]:
    return (FaultPlace(line, cut(content)) for line, content in page.metas.get("refresh", ()) if content)


@page_check("nofollow-pages", needs="robots")
def _nofollow_pages(page: AuditedPage) -> Iterator[FaultPlace]:
    for line, content in page.metas.get("robots", ()):
        if "nofollow" in content.lower().replace(",", " ").split():
            yield FaultPlace(line, f"robots: {cut(content)}")


@page_check("placeholder-text")
def _placeholder_text(page: AuditedPage) -> Iterator[FaultPlace]:
    place = page.html.find(b"orem ipsum dolor sit amet")
    if place >= 0:
        yield FaultPlace(page.html.count(b"\n", 0, place) + 1, "lorem ipsum dolor sit amet")


# ---- cards

_CARDS: Final = frozenset({"summary", "summary_large_image", "app", "player"})
_GRAPH: Final = ("og:title", "og:type", "og:image", "og:url")


@page_check("og-missing")
def _og_missing(page: AuditedPage) -> Iterator[FaultPlace]:
    if not any(name in page.metas for name in ("og:title", "og:image", "og:url", "og:type", "og:description")):
        yield FaultPlace(_first(page, "title", "meta"), "no og: properties")


@page_check("og-incomplete", needs="og:title og:type og:image og:url og:description")
def _og_incomplete(page: AuditedPage) -> Iterator[FaultPlace]:
    if not any(name in page.metas for name in (*_GRAPH, "og:description")):
        return
    page.groups.append("og")
    for name in _GRAPH:
        if not any(content for _, content in page.metas.get(name, ())):
            yield FaultPlace(_first(page, "title", "meta"), f"no {name}", name, "og")


@page_check("twitter-card-missing")
def _twitter_card_missing(page: AuditedPage) -> Iterator[FaultPlace]:
    if "twitter:card" not in page.metas:
        yield FaultPlace(_first(page, "title", "meta"), "no twitter:card")


@page_check("twitter-card-invalid", needs="twitter:card")
def _twitter_card_invalid(page: AuditedPage) -> Iterator[FaultPlace]:
    for line, content in page.metas.get("twitter:card", ()):
        if content.lower() not in _CARDS:
            yield FaultPlace(line, f"twitter:card is {cut(content) or 'empty'}")


@page_check("card-image-relative", needs="og:image twitter:image")
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


@page_check("data-syntax", needs="structured-data")
def _data_syntax(page: AuditedPage) -> Iterator[FaultPlace]:
    return _data_places(page, "data-syntax")


@page_check("data-context", needs="structured-data")
def _data_context(page: AuditedPage) -> Iterator[FaultPlace]:
    return _data_places(page, "data-context")


@page_check("data-type-missing", needs="structured-data")
def _data_type_missing(page: AuditedPage) -> Iterator[FaultPlace]:
    return _data_places(page, "data-type-missing")


@page_check("data-type-unknown", needs="structured-data")
def _data_type_unknown(page: AuditedPage) -> Iterator[FaultPlace]:
    return _data_places(page, "data-type-unknown")


@page_check("data-required", needs="structured-data")
def _data_required(page: AuditedPage) -> Iterator[FaultPlace]:
    return _data_places(page, "data-required")


@page_check("data-recommended", needs="structured-data")
def _data_recommended(page: AuditedPage) -> Iterator[FaultPlace]:
    for line, fault in _data(page):
        if fault.finding == "data-recommended":
            yield FaultPlace(line, cut(fault.detail), fault.detail, f"data {fault.type}")


@page_check("data-values", needs="structured-data")
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


@page_check("image-source-empty", needs="img")
def _image_source_empty(page: AuditedPage) -> Iterator[FaultPlace]:
    for tag in page.named("img"):
        others = any(name.startswith("data-") or name in ("srcset", ":src", "v-bind:src") for name in tag.attributes)
        if "src" in tag.attributes and not _value(tag, "src") and not others:
            yield FaultPlace(tag.line, _written(tag, "alt", "class"))


@page_check("image-alt-missing", needs="img")
def _image_alt_missing(page: AuditedPage) -> Iterator[FaultPlace]:
    for tag in _images(page):
        attributes = tag.attributes
        is_named = attributes.keys() & {"alt", "aria-label", "aria-labelledby", "aria-hidden"}
        if not is_named and _value(tag, "role") not in ("presentation", "none"):
            yield FaultPlace(tag.line, _source(tag))


@page_check("image-size-missing", needs="img")
def _image_size_missing(page: AuditedPage) -> Iterator[FaultPlace]:
    for tag in _images(page):
        style = _value(tag, "style").lower()
        has_both = _value(tag, "width") and _value(tag, "height")
        is_styled = "aspect-ratio" in style or ("width" in style and "height" in style)
        if not has_both and not is_styled and not _value(tag, "src").startswith("data:"):
            yield FaultPlace(tag.line, _source(tag))


@page_check("images-not-lazy", needs="img")
def _images_not_lazy(page: AuditedPage) -> Iterator[FaultPlace]:
    images = _images(page)
    if len(images) > _MANY_IMAGES:
        sources = {_value(tag, "src") for tag in images}
        is_lazy = any(_value(tag, "loading").lower() == "lazy" or _value(tag, "data-src") for tag in images)
        if len(sources) > _MANY_IMAGES and not is_lazy:
            yield FaultPlace(images[_MANY_IMAGES].line, f"{len(sources)} images without loading=lazy")


@page_check("iframe-title-missing", needs="iframe")
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


@page_check("mixed-content", of_all=True)
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


@page_check("form-insecure", of_all=True, needs="form")
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


@page_check("insecure-own-links", needs="odd-links")
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


@page_check("empty-links", needs="unnamed-links")
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


@page_check("javascript-links")
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


@page_check("file-links", needs="odd-links img script iframe")
def _file_links(page: AuditedPage) -> Iterator[FaultPlace]:
    for tag in (*page.odd_links, *page.named("img", "script", "iframe")):
        target = (tag[2].get("href") or tag[2].get("src") or "").lstrip()
        if target[:5].lower() == "file:" or target[1:3] == ":\\":
            yield FaultPlace(tag.line, cut(target), tag.name)


@page_check("malformed-links", needs="odd-links")
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


@page_check("localhost-links", needs="odd-links img script iframe")
def _localhost_links(page: AuditedPage) -> Iterator[FaultPlace]:
    own = page.origin.partition("//")[2].rpartition(":")[0] or page.origin.partition("//")[2]
    for tag in (*page.odd_links, *page.named("img", "script", "iframe")):
        target = (tag[2].get("href") or tag[2].get("src") or "").strip()
        found = _LOCAL.match(target)
        if found and found[1].lower() != own and not (tag.name == "a" and found[1] in page.text_of(tag)):
            yield FaultPlace(tag.line, cut(target), tag.name)


PAGE_CHECKS: Final = tuple(DECLARED)
"""All checks of single pages."""
