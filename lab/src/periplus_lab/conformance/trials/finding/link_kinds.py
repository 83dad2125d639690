"""A kind of link is a piece of markup and the pages that it leads to; a case on it says that they are requested."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct

from ...cases import Case, Evidence, Failure, Judge
from ...sites import TrialSite

HTML = "WHATWG HTML:"
URL = "WHATWG URL:"
"""Its sections are numbered anew every few months: they are named by their titles."""
FEW_PAGES = 90.0
"""Seconds for a crawl of some 25 pages."""


class WrittenLink(Struct, frozen=True, kw_only=True):
    """One way to write a link.

    All of `leads_to` are requested, and none of `not_to`. One of `spellings` is enough, where standards or habit leave
    more than one for the same URL.
    """

    name: str
    says: str
    source: str
    markup: str
    leads_to: tuple[str, ...] = ()
    spellings: tuple[str, ...] = ()
    not_to: tuple[str, ...] = ()
    judge: Judge | None = None


def case_of(site: TrialSite, kind: WrittenLink, *behind: str) -> Case:
    """Serve the pages that a kind leads to, and say what is judged. `behind` has the page with its markup."""
    site.pages((*kind.leads_to, *kind.spellings, *kind.not_to))
    judge = kind.judge or (one_of(*site.urls(*kind.spellings)) if kind.spellings else None)
    return Case(
        name=kind.name,
        says=kind.says,
        source=kind.source,
        wants=site.urls(*behind, *kind.leads_to),
        forbids=site.urls(*kind.not_to),
        judge=judge,
    )


def on_one_page(
    site: TrialSite, kinds: Iterable[WrittenLink], target: str = "/", *, head: str = "", links: Iterable[str] = ()
) -> tuple[Case, ...]:
    """Serve a page with the markup of all kinds: for well-formed markup, where no kind can hide another."""
    kinds = tuple(kinds)
    site.page(target, *links, head=head, body="\n".join(f"<div>{kind.markup}</div>" for kind in kinds))
    return tuple(case_of(site, kind, target) for kind in kinds)


def on_own_pages(
    site: TrialSite, kinds: Iterable[WrittenLink], serve: Callable[[str, WrittenLink], object]
) -> tuple[Case, ...]:
    """Serve one page for each kind at `/on/NAME` by `serve(target, kind)`, and a seed that links them."""
    kinds = tuple(kinds)
    targets = [f"/on/{kind.name}" for kind in kinds]
    site.page("/", *targets)
    for target, kind in zip(targets, kinds, strict=True):
        serve(target, kind)
    return tuple(case_of(site, kind, target) for target, kind in zip(targets, kinds, strict=True))


def one_of(*urls: str) -> Judge:
    """At least one of these is requested."""

    def judge(evidence: Evidence) -> Failure | None:
        if evidence.to(*urls):
            return None
        return Failure(f"never requested {' or '.join(urls)}", tuple(evidence.visits[-3:]))

    return judge


def once(*urls: str) -> Judge:
    """These are spellings of one URL: it is fetched once."""

    def judge(evidence: Evidence) -> Failure | None:
        found = [visit for visit in evidence.to(*urls) if visit.method == "GET"]
        return Failure(f"requested the same page {len(found)} times", tuple(found)) if len(found) > 1 else None

    return judge


def escaped(target: str, encoding: str = "utf-8") -> tuple[str, str]:
    """A target with its bytes beyond ASCII percent-encoded, in upper and in lower case."""
    upper = "".join(chr(byte) if byte < 0x80 else f"%{byte:02X}" for byte in target.encode(encoding))
    lower = "".join(chr(byte) if byte < 0x80 else f"%{byte:02x}" for byte in target.encode(encoding))
    return upper, lower
