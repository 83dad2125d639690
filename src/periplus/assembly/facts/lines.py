"""What is known of a collection, a site or a URL as labelled lines: what `periplus info` prints and web pages show."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping

from periplus.insight.reasons import explained
from periplus.model import UrlRecord

from ..wording import by_source, count, counted, moment, size, top
from .duplicate_words import duplicate_lines
from .freshness_words import fresh_words, page_lines
from .freshness_words import site_lines as freshness_lines
from .lookup import CollectionFacts, RobotsFacts, SiteFacts, UrlFacts
from .source_words import balance_line, source_lines
from .verdicts import verdict_lines

Lines = list[tuple[str, str]]
"""Each a label and what is known; empty where there is nothing to say."""
_REASONS_SHOWN = 4
"""Reasons named in a line."""


# a collection


def collection_lines(facts: CollectionFacts, *, is_whole: bool) -> Lines:
    """Return the totals of a collection; unless `is_whole`, also the most frequent reasons of each kind."""
    tally = facts.tally
    seen = f"{count(tally.new)} new, {count(tally.changed)} changed, {count(tally.same)} unchanged"
    sources = by_source(tally.sources, facts.known)
    lines = [
        ("pages", f"{count(tally.pages)}: {seen}; {counted(tally.copies, 'near-duplicate')}"),
        ("fresh", fresh_words(facts.freshness)),
        ("requests", f"{count(tally.fetches)}, {size(tally.downloaded)}; {counted(tally.redirects, 'redirect')}"),
        ("known", counted(facts.known, "URL") + (f" ({sources})" if sources else "")),
        ("queue", counted(facts.queued, "URL")),
        ("sites", f"{count(facts.sites)}, from {counted(facts.seeds, 'seed')}, in {counted(facts.shards, 'shard')}"),
    ]
    if is_whole:
        return lines
    return [
        *lines,
        *(
            (title, f"{count(sum(reasons.values()))} ({top(reasons, _REASONS_SHOWN)})")
            for title, reasons in reasons_of(facts)
            if reasons
        ),
    ]


def reasons_of(facts: CollectionFacts) -> tuple[tuple[str, Mapping[str, int]], ...]:
    """Return why URLs failed, were excluded or refused and sites were given up, each with counts by reason."""
    return (
        ("errors", facts.tally.errors),
        ("excluded", facts.tally.excluded),
        ("filtered out", facts.tally.refused),
        ("sites given up", facts.retired),
    )


# a site


def site_lines(facts: SiteFacts) -> Lines:
    """Return what is known of a site."""
    waiting = ", ".join(f"{number:,} by {lane}" for lane, number in facts.queued.items()) or "nothing"
    return [
        ("pages", f"{count(facts.pages)}, {size(facts.bytes)}"),
        ("queue", waiting),
        *(source_lines(facts.sources) if facts.sources else ()),
        ("budget", balance_line(facts.balance)),
        *freshness_lines(facts.freshness),
        ("address", facts.ip or "not looked up yet"),
        ("robots.txt", robots_words(facts.robots)),
        ("home page", f"may not be fetched: {facts.home_refused}" if facts.home_refused else ""),
        ("politeness", f"{facts.delay:g} s after each visit"),
        ("failures", f"{facts.failures} in a row" if facts.failures else ""),
        ("given up", reason_words(facts.retired)),
        *verdict_lines(facts.verdicts),
        ("next visit", f"not before {moment(facts.ready_at)}" if facts.queued and not facts.retired else ""),
        ("shard", str(facts.shard)),
    ]


def robots_words(facts: RobotsFacts | None) -> str:
    """Return what a robots.txt means for the crawl, and how long it holds."""
    if facts is None:
        return "not fetched yet"
    said = {
        "rules": f"{counted(facts.bytes, 'byte')}, obeyed",
        "all": "there is none: everything is allowed",
        "none": "cannot be fetched: no page is requested",
    }[facts.access]
    why = f" ({reason_words(facts.reason)})" if facts.reason else ""
    asks = f"; asks for {facts.crawl_delay:g} s between requests" if facts.crawl_delay else ""
    return f"{said}{why}{asks}; read {moment(facts.fetched_at)}, fetched again after {moment(facts.expires_at)}"


# a URL


def url_lines(facts: UrlFacts, folder: str) -> Lines:
    """Return what is known of a URL; `folder` names the collection in commands that help."""
    lines = _record_lines(facts.record) if facts.record else [("known", "no: not discovered yet")]
    robots = "allows it" if facts.site and facts.site.robots and not facts.robots else ""
    rule = f" by the rule {facts.robots_rule}" if facts.robots_rule and facts.robots == "robots" else ""
    says = "forbids it" if facts.robots == "robots" else "cannot be read"
    filtered = f"refuse it: {facts.filtered} ({facts.filter_rule}); {explained(facts.filtered)}"
    return [
        *lines,
        *page_lines(facts.freshness, time.time(), shlex.quote(folder)),
        *duplicate_lines(facts.copies, facts.url),
        ("robots.txt", f"{says}{rule}: {explained(facts.robots)}" if facts.robots else robots),
        ("filters", filtered if facts.filtered else "accept it"),
        ("known as", facts.known_as or ""),
        ("site", f"given up: {reason_words(facts.site.retired)}" if facts.site and facts.site.retired else ""),
    ]


def _record_lines(record: UrlRecord) -> Lines:
    first = min(record.first_seen, key=lambda seen: seen.at)
    sources = ", ".join(f"{seen.source.value} ({moment(seen.at)})" for seen in record.first_seen)
    return [
        ("known", f"since {moment(first.at)}, discovered by {sources}"),
        (
            "distance",
            f"{counted(record.depth, 'link')} from a seed"
            + (f", {counted(record.redirects, 'redirect')}" if record.redirects else ""),
        ),
        ("visits", f"{record.visits}, {counted(record.changes, 'change')}" if record.visits else "none yet"),
        ("last visit", moment(record.fetched_at) if record.fetched_at is not None else ""),
        ("status", str(record.status) if record.status is not None else ""),
        ("reason", reason_words(record.reason)),
        ("failures", f"{record.failures} in a row" if record.failures else ""),
        ("next", _next(record) if not record.evidence else ""),
    ]


def _next(record: UrlRecord) -> str:
    """Return when a page that was never fetched is next visited."""
    if record.due_at is not None:
        return moment(record.due_at)
    return "when its turn comes" if not record.visits and not record.reason else ""


def reason_words(reason: str) -> str:
    """Return a reason with its meaning."""
    meaning = explained(reason)
    return f"{reason}: {meaning}" if reason and meaning else reason
