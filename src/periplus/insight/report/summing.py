"""The report in a few sentences: what somebody should know who reads nothing else. Each rests on a part of it."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from .values import Report
from .wording import count, lasting, number_of, share


class Sentence(Struct, frozen=True):
    """What is so, what follows, and the part that shows it."""

    says: str
    so: str
    part: str


def sentences(report: Report) -> list[Sentence]:
    """Those for which there are numbers."""
    return [
        *_size(report),
        *_coverage(report),
        *_efficiency(report),
        *_first(report),
        *_errors(report),
        *_copies(report),
    ]


def _size(report: Report) -> Iterator[Sentence]:
    glance = report.row("glance")
    if glance.get("crawled"):
        part = share(glance["unique"] / glance["crawled"])
        kept = f"{part} of {count(glance['crawled'])} visited URLs brought a page of its own"
        yield Sentence(f"{kept}.", _left(report), "sources")


def _left(report: Report) -> str:
    rows = report.rows("refused")
    if not rows:
        return "Every URL that was heard of was visited."
    why = f", most of them because: {rows[0]['meaning']}" if rows[0]["meaning"] else ""
    return f"{count(sum(row['urls'] for row in rows))} more URLs were heard of, and not visited{why}."


def _coverage(report: Report) -> Iterator[Sentence]:
    covered = report.row("glance").get("unique_coverage")
    if covered is None:
        return
    so = "Links have to be followed to find the rest."
    if covered > 0.9:
        so = "Sitemaps alone nearly suffice."
    elif covered == 0:
        so = "Links are the only source."
    yield Sentence(f"Sitemaps list {share(covered)} of the unique pages.", so, "coverage_by_size")


def _efficiency(report: Report) -> Iterator[Sentence]:
    by_source = {row["source"]: row["efficiency"] for row in report.rows("sources")}
    sitemaps, links = by_source.get("sitemaps"), by_source.get("discovery")
    if sitemaps is None or links is None:
        return
    better = "what sitemaps list" if sitemaps > links else "what links lead to"
    so = "Both are worth the same." if abs(sitemaps - links) < 0.02 else f"Visits are better spent on {better}."
    yield Sentence(
        f"{share(sitemaps)} of visits to listed URLs and {share(links)} of visits to linked ones brought a new page.",
        so,
        "sources",
    )


def _first(report: Report) -> Iterator[Sentence]:
    rows = report.rows("first_seen")
    ahead, behind = sum(row["sitemaps_first"] for row in rows), sum(row["discovery_first"] for row in rows)
    if not ahead + behind:
        return
    part = ahead / (ahead + behind)
    both = sum(row["sitemaps_first"] + row["discovery_first"] + row["together"] for row in rows)
    mean = (
        sum(
            row["mean_seconds_earlier"] * (row["sitemaps_first"] + row["discovery_first"] + row["together"])
            for row in rows
        )
        / both
    )
    so = f"On average they were {lasting(abs(mean))} {'earlier' if mean >= 0 else 'later'} than links."
    yield Sentence(f"Sitemaps knew {share(part)} of the URLs first that both sources told of.", so, "first_seen")


def _errors(report: Report) -> Iterator[Sentence]:
    errors, visited = sum(row["urls"] for row in report.rows("errors")), report.row("glance").get("crawled")
    if not visited or not errors:
        return
    common = report.rows("errors")[0]
    where = f"{number_of(common['urls'], 'URL')} on {number_of(common['sites'], 'site')}"
    so = f"The commonest reason is {common['reason']} ({where})."
    yield Sentence(f"{share(min(errors / visited, 1.0))} of the visited URLs could not be had.", so, "errors")


def _copies(report: Report) -> Iterator[Sentence]:
    rows = report.rows("cluster_sizes")
    pages, clusters = sum(row["pages"] for row in rows), sum(row["clusters"] for row in rows)
    largest = next(iter(report.rows("duplicates")), None)
    if pages and largest is not None:
        so = f"The largest cluster has {number_of(largest['pages'], 'page')} on {number_of(largest['sites'], 'site')}."
        yield Sentence(f"{share(1 - clusters / pages)} of the pages repeat what another says.", so, "cluster_sizes")
