"""Structured data of a page: JSON-LD, microdata and RDFa as one kind of items, and what is wrong with them.

Types are those of schema.org, release 30.0 (`schema_org_types.txt`: each type, and of which type in `PROPERTIES` it is
a subtype). Required and recommended properties are those that Google documents for its rich results, in the structured
data section of Google Search Central (developers.google.com/search/docs/appearance/structured-data), 2025. Of
recommended properties only those are listed that nearly every such page can have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final, NamedTuple

import msgspec
from lxml import etree

MAX_ITEMS: Final = 1000
"""Items of a page that are looked at."""
MAX_SCRIPT: Final = 1 << 20
"""Bytes of a block of JSON-LD."""
_MAX_DEPTH: Final = 20
_SCHEMA: Final = re.compile(r"https?://(?:www\.)?schema\.org/?(.*)", re.IGNORECASE)


class Properties(NamedTuple):
    """Of a type: what is required and recommended; one of several where they are separated by `|`."""

    required: tuple[str, ...]
    recommended: tuple[str, ...] = ()


def _of(required: str, recommended: str = "") -> Properties:
    return Properties(tuple(required.split()), tuple(recommended.split()))


PROPERTIES: Final[Mapping[str, Properties]] = {
    "AggregateOffer": _of("lowPrice priceCurrency"),
    "AggregateRating": _of("ratingValue ratingCount|reviewCount"),
    "Answer": _of("text"),
    "Article": _of("", "headline author datePublished image"),
    "BreadcrumbList": _of("itemListElement"),
    "Course": _of("name description", "provider"),
    "Dataset": _of("name description", "license creator"),
    "DiscussionForumPosting": _of("author datePublished"),
    "Event": _of("name startDate location", "description endDate image"),
    "FAQPage": _of("mainEntity"),
    "ItemList": _of("itemListElement"),
    "JobPosting": _of(
        "title description datePosted hiringOrganization jobLocation|applicantLocationRequirements",
        "validThrough employmentType baseSalary",
    ),
    "ListItem": _of("position|item"),
    "LocalBusiness": _of("name address", "telephone url"),
    "Movie": _of("name image"),
    "Offer": _of("price|priceSpecification priceCurrency|priceSpecification", "availability"),
    "Organization": _of("", "name url logo"),
    "Product": _of("name offers|review|aggregateRating", "image description"),
    "ProfilePage": _of("mainEntity"),
    "QAPage": _of("mainEntity"),
    "Question": _of("name|text acceptedAnswer|suggestedAnswer|answerCount"),
    "Rating": _of("ratingValue"),
    "Recipe": _of("name image", "author recipeIngredient recipeInstructions"),
    "Review": _of("author reviewRating"),
    "SoftwareApplication": _of("name offers aggregateRating|review"),
    "VideoObject": _of("name thumbnailUrl uploadDate", "description contentUrl|embedUrl"),
    "WebSite": _of("", "name url"),
}
_NESTED: Final = frozenset({"AggregateOffer", "AggregateRating", "Answer", "ListItem", "Offer", "Question", "Rating"})
"""Types that are judged where they are the value of a property; others may be mentioned with a name alone."""
_DATES: Final = frozenset(
    {"datePublished", "dateModified", "startDate", "endDate", "uploadDate", "datePosted", "validThrough"}
)
_DATE: Final = re.compile(
    r"\d{4}(?:-?[01]\d(?:-?[0-3]\d(?:[T ][0-2]\d(?::?[0-5]\d(?::?[0-6]\d(?:[.,]\d+)?)?)?"
    r"\s?(?:Z|[+-][0-2]\d(?::?[0-5]\d)?)?)?)?)?",
    re.IGNORECASE,
)
_NUMBERS: Final = frozenset({"price", "lowPrice", "highPrice", "ratingValue", "ratingCount", "reviewCount"})
_NUMBER: Final = re.compile(r"\s*-?\d+(?:\.\d+)?\s*")
_WRAPPERS: Final = re.compile(
    rb"^\s*(?:<!--|(?://|/\*)?\s*<!\[CDATA\[(?:\s*\*/)?)|(?:-->|(?://|/\*)?\s*\]\]>(?:\s*\*/)?)\s*$"
)


ITEM: Final = "item"


class DataFault(NamedTuple):
    """What is wrong: the name of a finding, the type that it is about, and the detail.

    The finding of an item that was read is `ITEM`: how many there are of a type is what others are compared with.
    """

    finding: str
    type: str
    detail: str


@cache
def schema_types() -> dict[str, str]:
    """Every type of schema.org, with the type in `PROPERTIES` that it is or is a subtype of; empty if there is none."""
    lines = files(__package__).joinpath("schema_org_types.txt").read_text().split("\n")
    pairs = (line.partition(" ") for line in lines if line)
    return {name: base or (name if name in PROPERTIES else "") for name, _, base in pairs}


def json_faults(source: bytes) -> Iterator[DataFault]:
    """Check one block of JSON-LD."""
    text = _WRAPPERS.sub(b"", source).strip()
    if not text or len(text) > MAX_SCRIPT:
        return
    try:
        data = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        yield DataFault("data-syntax", "", f"JSON-LD: {error}")
        return
    tops = [top for top in (data if isinstance(data, list) else [data]) if isinstance(top, dict)]
    for top in tops[:MAX_ITEMS]:
        graph = top.get("@graph")
        items = graph if isinstance(graph, list) and "@type" not in top else [top]
        for item in items[:MAX_ITEMS]:
            if isinstance(item, dict):
                yield from _with_context(item, item.get("@context", top.get("@context")))


def _with_context(item: dict[str, Any], context: object) -> Iterator[DataFault]:
    if context is None:
        yield DataFault("data-context", "", "JSON-LD without @context")
    elif "schema.org" in str(context)[:2000].lower():
        yield from item_faults(item)


def item_faults(item: Mapping[str, Any], depth: int = 0, parent: str = "") -> Iterator[DataFault]:
    """Check an item and the items in it. Keys with `@` are those of JSON-LD; `parent` is the type around it."""
    own = [key for key in item if not key.startswith("@")]
    if not own or depth > _MAX_DEPTH:  # a reference to an item elsewhere
        return
    names = [name for name in _types(item) if name]
    if not names and depth == 0:
        yield DataFault("data-type-missing", "", f"an item with {', '.join(own[:3])}, but without a type")
    for name in names:
        if name not in schema_types():
            yield DataFault("data-type-unknown", name, name)
    base = next((schema_types()[name] for name in names if schema_types().get(name)), "")
    if base and depth == 0:
        yield DataFault(ITEM, names[0], "")
    if base and (depth == 0 or base in _NESTED):
        yield from _missing(item, names[0], base, parent, is_nested=depth > 0)
    yield from _wrong_values(item, names[0] if names else "")
    for key in own:
        values = item[key] if isinstance(item[key], list) else [item[key]]
        for value in values[:MAX_ITEMS]:
            if isinstance(value, dict):
                yield from item_faults(value, depth + 1, base)


def _types(item: Mapping[str, Any]) -> list[str]:
    written = item.get("@type")
    names = written if isinstance(written, list) else [written] if written else []
    return [_short(str(name)) for name in names]


def _short(name: str) -> str:
    """The name of a type of schema.org; empty for types of other vocabularies."""
    found = _SCHEMA.fullmatch(name)
    name = found[1] if found else name.removeprefix("schema:")
    return "" if ":" in name or "/" in name else name


def _missing(item: Mapping[str, Any], name: str, base: str, parent: str, *, is_nested: bool) -> Iterator[DataFault]:
    required, recommended = PROPERTIES[base]
    if base == "Review" and not is_nested:
        required = (*required, "itemReviewed")
    if base == "Question" and parent not in ("FAQPage", "QAPage"):
        required = ()
    if base == "Offer" and parent != "Product":
        required = recommended = ()
    for finding, wanted in (("data-required", required), ("data-recommended", () if is_nested else recommended)):
        for each in wanted:
            if not any(_has(item, key) for key in each.split("|")):
                yield DataFault(finding, name, f"{name} without {each.replace('|', ' or ')}")


def _has(item: Mapping[str, Any], key: str) -> bool:
    value = item.get(key)
    return value is not None and value not in ("", [], {})


def _wrong_values(item: Mapping[str, Any], name: str) -> Iterator[DataFault]:
    for key in item.keys() & (_DATES | _NUMBERS):
        value = item[key][0] if isinstance(item[key], list) and item[key] else item[key]
        if not isinstance(value, str) or not value.strip():
            continue
        pattern, kind = (_DATE, "a date of ISO 8601") if key in _DATES else (_NUMBER, "a number")
        if not pattern.fullmatch(value.strip()):
            yield DataFault("data-values", name, f"{name} {key} is {value[:60]!r}, not {kind}")


_LINKED: Final = {
    "a": "href", "area": "href", "link": "href", "img": "src", "audio": "src", "embed": "src", "iframe": "src",
    "source": "src", "track": "src", "video": "src", "object": "data",
}  # fmt: skip


def markup_faults(html: bytes) -> Iterator[tuple[int, DataFault]]:
    """Check the microdata and RDFa of a page; each fault comes with the line of its item."""
    try:
        parser = etree.HTMLParser(encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True)
        root: Any = etree.fromstring(html, parser)
    except (etree.ParserError, etree.XMLSyntaxError, ValueError):
        return
    if root is None:
        return
    for element in root.xpath("//*[@itemtype][not(@itemscope)]")[:1]:
        yield element.sourceline, DataFault("data-syntax", "", "microdata: itemtype without itemscope")
    for item in [*_microdata(root), *_rdfa(root)]:
        yield from ((item["@line"], fault) for fault in item_faults(item))


def _microdata(root: Any) -> list[dict[str, Any]]:
    """The items that are not a property of another one."""
    referred = {each for names in root.xpath("//@itemref") for each in str(names).split()}
    return [
        _item(element, "itemscope", "itemprop", "itemtype")
        for element in root.xpath("//*[@itemscope][not(@itemprop)][contains(@itemtype, 'schema.org')]")[:MAX_ITEMS]
        if element.get("id") not in referred and not element.get("itemref")
    ]


def _rdfa(root: Any) -> list[dict[str, Any]]:
    found = []
    for element in root.xpath("//*[@typeof][not(@property)]")[:MAX_ITEMS]:
        vocabularies = [str(each.get("vocab")) for each in element.xpath("ancestor-or-self::*[@vocab]")]
        if vocabularies and "schema.org" in vocabularies[-1].lower():
            found.append(_item(element, "typeof", "property", "typeof"))
    return found


def _item(scope: Any, marker: str, property_name: str, type_name: str, depth: int = 0) -> dict[str, Any]:
    item: dict[str, Any] = {"@line": scope.sourceline}
    types = str(scope.get(type_name) or "").split()
    if types:
        item["@type"] = types
    waiting = list(scope)[::-1]
    while waiting and depth <= _MAX_DEPTH:
        element = waiting.pop()
        if not isinstance(element.tag, str):
            continue
        is_item = element.get(marker) is not None
        names = str(element.get(property_name) or "").split()
        if names:
            value = _item(element, marker, property_name, type_name, depth + 1) if is_item else _value(element)
            for name in names:
                item.setdefault(name.removeprefix("schema:"), []).append(value)
        if not is_item:
            waiting.extend(list(element)[::-1])
    return item


def _value(element: Any) -> str:
    content = element.get("content")
    if content is None and (linked := element.get(_LINKED.get(str(element.tag), "resource"))) is not None:
        content = linked or "."
    if content is None and element.tag in ("time", "data", "meter"):
        content = element.get("datetime") or element.get("value")
    return str(content) if content is not None else "".join(map(str, element.itertext())).strip()[:200]
