"""What is known of a collection, a site or a URL as labelled lines: what `periplus info` prints and web pages show.

Also the lines on the near-duplicates of a page, and on what links and sitemaps contributed to a site, with the reasons
why its budget moved between them.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping
from typing import Final

from periplus.insight.reasons import explained
from periplus.model import ChangeLevel, SiteOutage, SourceCounts, SourceFacts, Url, UrlRecord
from periplus.policy.balance import BalanceMove
from periplus.store.tables.declared import ImportedFileRow
from periplus.view.values import Lines
from periplus.view.wording import count, counted, size, top, when

from ..wording import by_source, harvest
from .balance import BalanceFacts
from .freshness_words import fresh_words, page_lines
from .freshness_words import site_lines as freshness_lines
from .lookup import CollectionFacts, CopyFacts, RefusedDiscovery, RobotsFacts, SiteFacts, UrlFacts, verdict_lines

BELIEFS: Final = {
    "names-itself": "it is this page",
    "same-text": "it says the same",
    "not-read-yet": "it was not read yet, and nothing contradicts it",
    "other-text": "it says something else",
    "target-is-gone": "there is no page",
    "target-points-on": "it names another URL itself",
    "names-home-page": "it was not read yet, and naming the home page is mostly a template's mistake",
    "elsewhere": "it was not read yet, and is of another site, which would have to agree",
}
"""Why the canonical URL that a page declares is accepted or not; `policy.duplicates` has the rules."""


def duplicate_lines(facts: CopyFacts | None, url: Url) -> list[tuple[str, str]]:
    """Return what is known as labelled lines."""
    if facts is None:
        return []
    lines = []
    if facts.pages > 1:
        others = "another page" if facts.pages == 2 else f"{facts.pages - 1:,} other pages"
        name = "this URL" if facts.canonical == url else facts.canonical
        lines.append(("says the same", f"as {others}; all are best known by {name}"))
    if facts.is_copy:
        lines.append(("copy", f"yes: another said it before ({facts.likeness:.0%} alike)"))
    if facts.names is not None:
        lines.append(("canonical", f"names {facts.names}{_judgement(facts)}"))
    return lines


def _judgement(facts: CopyFacts) -> str:
    if facts.is_believed is None:
        return ", which another shard knows"
    return f": {'believed' if facts.is_believed else 'not believed'}, because {BELIEFS[facts.why]}"


_BARS = "▁▂▃▄▅▆▇█"
MOVES = {
    BalanceMove.TO_SITEMAPS: "more to sitemaps: worth more",
    BalanceMove.TO_DISCOVERY: "more to links: worth more",
    BalanceMove.TIE: "as before: worth the same",
    BalanceMove.TIE_TO_SITEMAPS: "more to sitemaps: a tie (Figure 8)",
    BalanceMove.ONE_SOURCE: "as before: nothing to compare",
    BalanceMove.UNUSED: "as before: the better has no more",
    BalanceMove.AT_BOUND: "as before: all but a sample",
    BalanceMove.FIXED: "as before: fixed by the settings",
}
"""What followed from an epoch, short enough for a narrow terminal."""
MOVES_BY_WORD = {move.word: why for move, why in MOVES.items()}
"""The same by the word that `EpochFacts.move` holds."""


def source_lines(facts: SourceFacts) -> list[tuple[str, str]]:
    """Lines on the URLs found by links and by sitemaps, each and together; none where there are links alone."""
    if not facts.files and not facts.sitemaps_only.known and not facts.both.known:
        return []
    by_links, by_sitemaps = count(facts.first_by_links), count(facts.first_by_sitemaps)
    first = f"; {by_sitemaps} first seen in sitemaps, {by_links} by links" if facts.both.known else ""
    more = f" (of the first {counted(_known(facts), 'URL')})" if facts.is_partial else ""
    return [
        ("sitemap files", f"{count(facts.files)} read, {counted(facts.listed, 'entry', 'entries')}"),
        ("by links only", f"{_source_text(facts.links_only)}{more}"),
        ("by sitemaps only", _source_text(facts.sitemaps_only)),
        ("by both", f"{_source_text(facts.both)}{first}"),
    ]


def _known(facts: SourceFacts) -> int:
    return facts.links_only.known + facts.sitemaps_only.known + facts.both.known


def _source_text(counts: SourceCounts) -> str:
    if not counts.known:
        return "nothing"
    return f"{count(counts.known)} known, {count(counts.fetched)} fetched, {count(counts.unique)} of these unique"


def balance_line(facts: BalanceFacts | None) -> str:
    """How the budget is shared now, and a small picture of how it came to that: the share of sitemaps."""
    if facts is None:
        return ""
    pages = facts.sitemaps + facts.links
    moved = f", after {counted(facts.epochs, 'epoch')}" if facts.epochs else ", and nothing was judged yet"
    shares = [*((epoch.sitemaps, epoch.links) for epoch in facts.history), (facts.sitemaps, facts.links)]
    picture = "".join(_BARS[min(8 * sitemaps // max(sitemaps + links, 1), 7)] for sitemaps, links in shares)
    shared = f"{count(facts.sitemaps)} to sitemaps, {count(facts.links)} to links"
    return f"of {counted(pages, 'page')} {shared}{moved}  {picture}"


_REASONS_SHOWN = 4
"""Reasons named in a line."""
_OUTAGES_SHOWN = 3
"""Sites that are down that a line names."""
_FILES_SHOWN = 3
"""Imported files that are named unless all are asked for."""


# a collection


def collection_lines(facts: CollectionFacts, *, is_whole: bool) -> Lines:
    """Return the totals of a collection; unless `is_whole`, also the most frequent reasons of each kind."""
    tally = facts.tally
    seen = f"{count(tally.new)} new, {count(tally.changed)} changed, {count(tally.same)} unchanged"
    sources = by_source(tally.sources, facts.known)
    pages = f" ({count(facts.total.pages)} for pages)" if facts.total.pages < tally.fetches else ""
    lines = [
        ("pages", f"{count(tally.pages)}: {seen}; {counted(tally.copies, 'near-duplicate')}"),
        ("on topic", f"{count(tally.relevant)}; {harvest(tally)}" if tally.appraised else ""),
        ("fresh", fresh_words(facts.freshness)),
        (
            "requests",
            f"{count(tally.fetches)}{pages}, {size(tally.downloaded)}; {counted(tally.redirects, 'redirect')}",
        ),
        ("known", counted(facts.known, "URL") + (f" ({sources})" if sources else "")),
        ("queue", counted(facts.queued, "URL")),
        ("sites", f"{count(facts.sites)}, from {counted(facts.seeds, 'seed')}, in {counted(facts.shards, 'shard')}"),
    ]
    if facts.script_templates:
        templates = counted(facts.script_templates, "template")
        lines.append(("scripts", f"{templates} of pages that cannot be read without scripts (crawl --render)"))
    if facts.compared is not None:
        none = "no page was compared with a browser's copy: too few pages for [cloaking] share"
        some = f"{counted(facts.compared, 'page')} compared with a browser's copy"
        lines.append(("cloaking", some if facts.compared else none))
    if facts.outages:
        shown = [f"{row.site} {outage_words(row)}" for row in facts.outages[:_OUTAGES_SHOWN]]
        lines.append(("down", "; ".join([*shown, *(["and others"] if len(facts.outages) > len(shown) else [])])))
    files = facts.imported if is_whole else facts.imported[:_FILES_SHOWN]
    lines += [("" if number else "imported", _imported_words(row)) for number, row in enumerate(files)]
    if len(files) < len(facts.imported):
        lines.append(("", "and others: the table imported_files has them"))
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


def _imported_words(row: ImportedFileRow) -> str:
    """A file that was imported, and who wrote it."""
    by = f", by {row.software}" if row.software else ""
    operator = f", operator {row.operator}" if row.operator else ""
    written = f", written {when(row.written_at)}" if row.written_at is not None else ""
    return f"{row.file}: {counted(row.records, 'record')}{by}{operator}{written}"


def reasons_of(facts: CollectionFacts) -> tuple[tuple[str, Mapping[str, int]], ...]:
    """Return why URLs failed, were excluded or refused and sites were given up, each with counts by reason."""
    return (
        ("errors", facts.tally.errors),
        ("excluded", facts.tally.excluded),
        ("filtered out", facts.tally.refused),
        ("sites given up", facts.retired),
    )


def outage_words(row: SiteOutage) -> str:
    """Since when a site is down and why, when it was last tried and is tried next."""
    tried = f"last tried {when(row.tried_at)}, next {when(row.next_at)}"
    return f"since {when(row.since)} ({reason_words(row.reason)}), {tried}; its pages keep their last good versions"


# a site


def site_lines(facts: SiteFacts) -> Lines:
    """Return what is known of a site."""
    waiting = ", ".join(f"{number:,} by {lane}" for lane, number in facts.queued.items()) or "nothing"
    return [
        ("pages", _pages(facts.sources) if facts.sources else ""),
        ("requests", f"{count(facts.pages)} for pages, {size(facts.bytes)}"),
        ("queue", waiting),
        *(source_lines(facts.sources) if facts.sources else ()),
        ("budget", balance_line(facts.balance)),
        *freshness_lines(facts.freshness),
        ("address", facts.ip or "not looked up yet"),
        ("robots.txt", robots_words(facts.robots)),
        ("home page", f"may not be fetched: {facts.home_refused}" if facts.home_refused else ""),
        ("politeness", f"{facts.delay:g} s after each visit"),
        ("failures", f"{facts.failures} in a row" if facts.failures else ""),
        ("down", outage_words(facts.outage) if facts.outage else ""),
        ("given up", "" if facts.outage else reason_words(facts.retired)),
        *verdict_lines(facts.verdicts),
        ("next visit", f"not before {when(facts.ready_at)}" if facts.queued and not facts.retired else ""),
        ("shard", str(facts.shard)),
    ]


def _pages(facts: SourceFacts) -> str:
    return f"{count(facts.fetched)}{f' of the first {count(_known(facts))} URLs' if facts.is_partial else ''}"


def robots_words(facts: RobotsFacts | None) -> str:
    """Return what a robots.txt means for the crawl, and how long it holds."""
    if facts is None:
        return "not fetched yet"
    meanings = {
        "rules": f"{counted(facts.bytes, 'byte')}, obeyed",
        "all": "there is none: everything is allowed",
        "none": "cannot be fetched: no page is requested",
    }[facts.access]
    why = f" ({reason_words(facts.reason)})" if facts.reason else ""
    asks = f"; asks for {facts.crawl_delay:g} s between requests" if facts.crawl_delay else ""
    return f"{meanings}{why}{asks}; read {when(facts.fetched_at)}, fetched again after {when(facts.expires_at)}"


# a URL


def url_lines(facts: UrlFacts, folder: str) -> Lines:
    """Return what is known of a URL; `folder` names the collection in commands that help."""
    lines = _record_lines(facts) or [("known", _unknown(facts))]
    robots = "allows it" if facts.site and facts.site.robots and not facts.robots else ""
    rule = f" by the rule {facts.robots_rule}" if facts.robots_rule and facts.robots == "robots" else ""
    says = "forbids it" if facts.robots == "robots" else "cannot be read"
    filtered = f"refuse it: {facts.filtered} ({facts.filter_rule}); {explained(facts.filtered)}"
    refused = facts.refused and f"refused it then: {rule_words(facts.refused)}"
    return [
        *lines,
        *page_lines(facts.freshness, time.time(), shlex.quote(folder)),
        *duplicate_lines(facts.copies, facts.url),
        ("robots.txt", f"{says}{rule}: {explained(facts.robots)}" if facts.robots else robots),
        ("filters", filtered if facts.filtered else refused or "accept it"),
        ("known as", facts.known_as or ""),
        ("site", _site_words(facts.site) if facts.site else ""),
    ]


def _unknown(facts: UrlFacts) -> str:
    return f"no: {found_words(facts.refused)}, and refused" if facts.refused else "no: not discovered yet"


def found_words(refused: RefusedDiscovery) -> str:
    """Where and when a URL was found that a filter refused."""
    place = f" on {refused.referrer}" if refused.referrer else ""
    return f"found by a {refused.source}{place} at {when(refused.found_at)}"


def rule_words(refused: RefusedDiscovery) -> str:
    """Why a filter refused a URL."""
    return f"{reason_words(refused.reason)}{f' ({refused.rule})' if refused.rule else ''}"


def _site_words(facts: SiteFacts) -> str:
    if facts.outage:
        return f"down {outage_words(facts.outage)}"
    return f"given up: {reason_words(facts.retired)}" if facts.retired else ""


def _record_lines(facts: UrlFacts) -> Lines:
    record = facts.record
    if record is None:
        return []
    first = min(record.first_seen, key=lambda seen: seen.at)
    sources = ", ".join(f"{seen.source.value} ({when(seen.at)})" for seen in record.first_seen)
    return [
        ("known", f"since {when(first.at)}, discovered by {sources}"),
        (
            "distance",
            f"{counted(record.depth, 'link')} from a seed"
            + (f", {counted(record.redirects, 'redirect')}" if record.redirects else ""),
        ),
        ("visits", f"{record.visits}, {_changes(record, facts.levels)}" if record.visits else "none yet"),
        ("last visit", when(record.fetched_at) if record.fetched_at is not None else ""),
        ("status", str(record.status) if record.status is not None else ""),
        ("reason", reason_words(record.reason)),
        ("failures", f"{record.failures} in a row" if record.failures else ""),
        ("next", "" if record.evidence else _next(record, is_watched=facts.is_watched)),
    ]


def _changes(record: UrlRecord, levels: Mapping[str, int]) -> str:
    minor = levels.get(ChangeLevel.MINOR.word, 0)
    more = f" and {count(minor)} of a few words, which do not count for how often it changes" if minor else ""
    return f"{counted(record.changes, 'change')}{more}"


def _next(record: UrlRecord, *, is_watched: bool) -> str:
    """Return when a URL that never had a page is next visited: by a crawl once, by a watch again."""
    if record.due_at is not None:
        return when(record.due_at) if is_watched else ""
    return "when its turn comes" if not record.visits and not record.reason else ""


def reason_words(reason: str) -> str:
    """Return a reason with its meaning."""
    meaning = explained(reason)
    return f"{reason}: {meaning}" if reason and meaning else reason
