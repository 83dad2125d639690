"""What is wrong with the structured data of a page: JSON-LD, microdata and RDFa (`content.structured_data`).

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

from periplus.content.structured_data import BAD_JSON, MAX_DEPTH, MAX_ITEMS, json_items, marked_items, types_of


class Properties(NamedTuple):
    """Of a type: what is required and recommended; one of several where they are separated by `|`.

    `page` is the page of Google Search Central that says so, below `.../appearance/structured-data/`.
    """

    page: str
    required: tuple[str, ...]
    recommended: tuple[str, ...] = ()


def _of(page: str, required: str, recommended: str = "") -> Properties:
    return Properties(page, tuple(required.split()), tuple(recommended.split()))


PROPERTIES: Final[Mapping[str, Properties]] = {
    "AggregateOffer": _of("product-snippet", "lowPrice priceCurrency"),
    "AggregateRating": _of("review-snippet", "ratingValue ratingCount|reviewCount"),
    "Answer": _of("qapage", "text"),
    "Article": _of("article", "", "headline author datePublished image"),
    "BreadcrumbList": _of("breadcrumb", "itemListElement"),
    "Course": _of("course", "name description", "provider"),
    "Dataset": _of("dataset", "name description", "license creator"),
    "DiscussionForumPosting": _of("discussion-forum", "author datePublished"),
    "Event": _of("event", "name startDate location", "description endDate image"),
    "FAQPage": _of("faqpage", "mainEntity"),
    "ItemList": _of("carousel", "itemListElement"),
    "JobPosting": _of(
        "job-posting",
        "title description datePosted hiringOrganization jobLocation|applicantLocationRequirements",
        "validThrough employmentType baseSalary",
    ),
    "ListItem": _of("breadcrumb", "position|item"),
    "LocalBusiness": _of("local-business", "name address", "telephone url"),
    "Movie": _of("movie", "name image"),
    "Offer": _of("merchant-listing", "price|priceSpecification priceCurrency|priceSpecification", "availability"),
    "Organization": _of("organization", "", "name url logo"),
    "Product": _of("product-snippet", "name offers|review|aggregateRating", "image description"),
    "ProfilePage": _of("profile-page", "mainEntity"),
    "QAPage": _of("qapage", "mainEntity"),
    "Question": _of("qapage", "name|text acceptedAnswer|suggestedAnswer|answerCount"),
    "Rating": _of("review-snippet", "ratingValue"),
    "Recipe": _of("recipe", "name image", "author recipeIngredient recipeInstructions"),
    "Review": _of("review-snippet", "author reviewRating"),
    "SoftwareApplication": _of("software-app", "name offers aggregateRating|review"),
    "VideoObject": _of("video", "name thumbnailUrl uploadDate", "description contentUrl|embedUrl"),
    "WebSite": _of("../site-names", "", "name url"),
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
    try:
        for item, context in json_items(source):
            yield from _with_context(item, context)
    except BAD_JSON as error:
        yield DataFault("data-syntax", "", f"JSON-LD: {error}")


def _with_context(item: dict[str, Any], context: object) -> Iterator[DataFault]:
    if context is None:
        yield DataFault("data-context", "", "JSON-LD without @context")
    elif "schema.org" in str(context)[:2000].lower():
        yield from item_faults(item)


def item_faults(item: Mapping[str, Any], depth: int = 0, parent: str = "") -> Iterator[DataFault]:
    """Check an item and the items in it. Keys with `@` are those of JSON-LD; `parent` is the type around it."""
    own = [key for key in item if not key.startswith("@")]
    if not own or depth > MAX_DEPTH:  # a reference to an item elsewhere
        return
    names = [name for name in types_of(item) if name]
    if not names and depth == 0:
        yield DataFault("data-type-missing", "", f"an item with {', '.join(own[:3])}, but without a type")
    if not any(name in schema_types() for name in names):  # beside a known one, a type of one's own is no loss
        yield from (DataFault("data-type-unknown", name, name) for name in names)
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


def _missing(item: Mapping[str, Any], name: str, base: str, parent: str, *, is_nested: bool) -> Iterator[DataFault]:
    _, required, recommended = PROPERTIES[base]
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


def markup_faults(html: bytes) -> Iterator[tuple[int, DataFault]]:
    """Check the microdata and RDFa of schema.org on a page; each fault comes with the line of its item."""
    found = marked_items(html)
    if found.stray is not None:
        yield found.stray, DataFault("data-syntax", "", "microdata: itemtype without itemscope")
    known = (item for item in found.microdata if any("schema.org" in name for name in item.get("@type", ())))
    for item in (*known, *found.rdfa):
        yield from ((item["@line"], fault) for fault in item_faults(item))
