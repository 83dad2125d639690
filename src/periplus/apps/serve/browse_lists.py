"""Pages about sitemaps, freshness, forms, what was excluded and why, and the runs of a collection."""

# ruff: noqa: S608 - SQL is put together from our own words here; what others wrote is quoted

from __future__ import annotations

from typing import Final

from msgspec.structs import asdict

from periplus.apps.changes import run_beginnings
from periplus.apps.report.making import crawl_state_of
from periplus.collection.collection import CollectionSetup, states
from periplus.collection.facts.freshness_words import TELLERS, fresh_words, trust
from periplus.engine.revisit.show import budget_of
from periplus.insight.reasons import explained
from periplus.model import RevisitBudget, SignalFacts
from periplus.view.values import Column
from periplus.view.wording import counted, lasting

from .browse_asked import Asked
from .browse_cells import BrowsePage, Table, TableQuery, quoted
from .browse_sites import FILES
from .browse_state import read_state, spooled_of

_RUNS: Final = 1000
"""Runs that are listed, the latest first."""


def sitemaps(asked: Asked) -> BrowsePage:
    """Every sitemap, feed and archive, and what is known of each."""
    text = asked.parameter("q")
    where = f"where contains(url, {quoted(text)})\n" if text else ""
    return BrowsePage(
        name="sitemaps",
        title="Sitemaps and feeds",
        about="The files in which sites list their pages: how they were found, what they hold, and when they are read.",
        tables=(
            TableQuery(
                "files",
                "Files",
                "select url, kind, origin, entries, outcome, problem_count, changes, visits,\n"
                "    epoch(read_at) as read_at, epoch(due_at) as due_at, retired\n"
                f"from sitemap_files\n{where}order by entries desc, url",
                FILES,
                empty="No sitemap or feed is known.",
            ),
            TableQuery(
                "formats",
                "Formats",
                "select * from sitemap_formats order by entries desc, format",
                (Column("format", "format"), Column("files", "files", "count"), Column("entries", "entries", "count"),
                 Column("bytes", "size", "bytes"), Column("with_problems", "with problems", "count")),
                figure="formats",
            ),
            TableQuery(
                "fields",
                "What they say of their pages",
                "select * from sitemap_fields order by entries desc, site",
                (Column("site", "site", "site"), Column("entries", "entries", "count"),
                 Column("lastmod", "with lastmod", "share"), Column("changefreq", "with changefreq", "share"),
                 Column("priority", "with priority", "share")),
                empty="No sitemap was read to its end.",
            ),
            TableQuery(
                "problems",
                "Problems",
                "select problem, count(*) as files, max(url) as url\n"
                "from (select url, unnest(problems) as problem from sitemap_files)\n"
                "group by problem order by files desc, problem",
                (Column("problem", "problem"), Column("files", "files", "count"), Column("url", "for example", "url")),
                empty="None.",
            ),
        ),
        form="filter",
    )  # fmt: skip


# freshness


def market_of(collection: CollectionSetup, now: float) -> RevisitBudget:
    """What is known of the freshness of a collection, and what its visits cost."""
    with states(collection.layout) as opened:
        return budget_of(list(opened.values()), now, collection.config.refresh)


def _described(facts: SignalFacts) -> tuple[str, str]:
    return TELLERS[facts.kind], trust(facts)


def freshness_page(asked: Asked) -> BrowsePage:
    """How fresh the copies are, by what that is claimed, and the budget of visits."""
    market = read_state(market_of, asked.found, asked.now)
    state = read_state(_signals, asked.found)
    lines = [("fresh", fresh_words(market.freshness) or "not known yet")]
    if market.price is not None:
        lines += [
            ("budget", f"{market.visits_a_day:,.0f} visits a day"),
            ("price", f"{market.price:.4g}: what a visit must be worth to be made (objective {market.objective})"),
            ("planned", f"{counted(market.planned, 'URL')} with a time for the next visit"),
        ]
    else:
        lines.append(("budget", f"none: periplus watch {asked.folder} plans visits and keeps copies fresh"))
    return BrowsePage(
        name="freshness",
        title="Freshness",
        about="How likely copies are what pages say now, from how often pages changed and what sites report.",
        lines=lines,
        tables=(
            _CLASSES,
            _RATES,
            Table(
                name="signals",
                title="Which signals are reliable",
                columns=(Column("site", "site", "site"), Column("signal", "signal"), Column("verdict", "verdict"),
                         Column("says", "why")),
                rows=state,
                says="Whether what the largest sites report about their changes proved true.",
                command=f"periplus info {asked.folder} SITE",
                per_page=200,
                empty="Nothing was learnt yet: signals are judged when pages are visited again.",
            ),
        ),
        facts=market,
    )  # fmt: skip


def _signals(collection: CollectionSetup) -> list[dict[str, str]]:
    found = crawl_state_of(collection, _described).trusts
    return [asdict(each) for each in found]


_CLASSES: Final = TableQuery(
    "classes",
    "Pages by how often they had changed",
    "select case when changed = 0 then 'never' when changed < visits / 4 then 'seldom (under a quarter of visits)'\n"
    "    when changed < visits * 3 / 4 then 'often' else 'nearly always (three quarters and more)' end as changes,\n"
    "    count(*) as pages, sum(visits)::bigint as comparisons, sum(changed)::bigint as changed\n"
    "from (select url, count(*) as visits, count(*) filter (where is_change) as changed from changes group by url)\n"
    "group by all order by min(changed / visits)",
    (Column("changes", "had changed"), Column("pages", "pages", "count"),
     Column("comparisons", "visits after the first", "count"), Column("changed", "found a change", "count")),
    empty="No page was visited twice yet.",
)  # fmt: skip
_RATES: Final = TableQuery(
    "rates",
    "How often pages change, by site",
    "select * from change_rates order by changes_a_day desc nulls last, site",
    (Column("site", "site", "site"), Column("comparisons", "visits after the first", "count"),
     Column("changed", "found a change", "count"), Column("share", "share", "share"),
     Column("days_between", "days between", "number"), Column("changes_a_day", "changes a day", "number")),
    figure="changes",
    empty="No page was visited twice yet.",
)  # fmt: skip


# forms


def forms(asked: Asked) -> BrowsePage:
    """Pages with forms."""
    del asked
    return BrowsePage(
        name="forms",
        title="Forms",
        about="Pages with forms, at their last reading. Behind a form there may be pages that no link leads to.",
        tables=(
            TableQuery(
                "forms",
                "Pages with forms",
                "select url, site, arg_max(title, read_at) as title, arg_max(forms, read_at) as forms,\n"
                "    epoch(max(read_at)) as read_at\n"
                "from pages group by url, site having arg_max(forms, read_at) > 0 order by forms desc, url",
                (Column("url", "page", "url"), Column("site", "site", "site"), Column("title", "title"),
                 Column("forms", "forms", "count"), Column("read_at", "read", "moment")),
                empty="No page that was read has a form.",
            ),
            TableQuery(
                "from_forms",
                "URLs found through forms",
                "select url, referrer, epoch(found_at) as found_at, refused from discoveries where source = 'form'\n"
                "order by found_at desc, url",
                (Column("url", "URL", "url"), Column("referrer", "form on", "url"),
                 Column("found_at", "found", "moment"), Column("refused", "refused", "reason")),
                empty="None.",
            ),
        ),
    )  # fmt: skip


# what was excluded


_REFUSED: Final = """\
select 'when found' as decided, refused as reason, rule, url, site, found_at as seen_at
from discoveries where refused is not null
union all
select 'before the request', reason, rule, url, site, started_at from fetches where outcome = 'excluded'"""


def excluded(asked: Asked) -> BrowsePage:
    """What was excluded, by reason and rule, with samples."""
    reason, rule = asked.parameter("reason"), asked.parameter("rule")
    if not reason:
        return BrowsePage(
            name="excluded",
            title="Excluded and refused",
            about="URLs that scope, patterns, traps, budgets or robots.txt exclude. Choose a reason to see its URLs.",
            tables=(
                TableQuery(
                    "rules",
                    "By reason and rule",
                    "select reason, coalesce(rule, '') as rule, decided, count(distinct url) as urls,\n"
                    f"    count(distinct site) as sites, max(url) as url\nfrom ({_REFUSED})\n"
                    "group by all order by urls desc, reason, rule",
                    (Column("reason", "reason", "reason"), Column("rule", "rule"), Column("decided", "decided"),
                     Column("urls", "URLs", "count"), Column("sites", "sites", "count"),
                     Column("url", "for example", "url")),
                    empty="Every URL that was found may be fetched.",
                ),
            ),
        )  # fmt: skip
    more = f" and rule = {quoted(rule)}" if rule else ""
    return BrowsePage(
        name="excluded",
        title=f"Excluded: {reason}",
        about=explained(reason) or "This reason is not known.",
        tables=(
            TableQuery(
                "urls",
                "URLs",
                f"select url, max(rule) as rule, max(decided) as decided, epoch(max(seen_at)) as seen_at\n"
                f"from ({_REFUSED})\nwhere reason = {quoted(reason)}{more}\ngroup by url order by seen_at desc, url",
                (Column("url", "URL", "url"), Column("rule", "rule"), Column("decided", "decided"),
                 Column("seen_at", "last", "moment")),
                empty="No URL was excluded for this reason.",
            ),
            TableQuery(
                "failed",
                "URLs whose last request failed for this reason",
                "select url, site, epoch(started_at) as started_at, detail from fetches\n"
                f"where coalesce(reason, 'http-' || status) = {quoted(reason)} and outcome <> 'excluded'\n"
                "qualify row_number() over (partition by url order by fetches.started_at desc) = 1\n"
                "order by fetches.started_at desc, url",
                (Column("url", "URL", "url"), Column("site", "site", "site"), Column("started_at", "when", "moment"),
                 Column("detail", "detail")),
                empty="None.",
            ),
        ),
    )  # fmt: skip


# runs


def runs(asked: Asked) -> BrowsePage:
    """The runs of this collection: when each began and ended, and what it fetched."""
    spooled = read_state(spooled_of, asked.found)
    every = run_beginnings(asked.collection.folder, spooled=spooled)
    began = every[-_RUNS:]
    starts = [0.0 if at == every[0] else at for at in began]  # requests are dated by their end, runs to the microsecond
    listed = ", ".join(f"({start!r}, {at!r})" for start, at in zip(starts, began, strict=True)) or "(0.0, 0.0)"
    query = TableQuery(
        "runs",
        "Runs",
        "select began, epoch(max(ended_at)) as ended, count(*) as requests, count(*) filter (where is_page) as pages,\n"
        "    count(*) filter (where is_page and lane = 'refresh') as visited_again,\n"
        "    count(*) filter (where is_error) as errors, sum(bytes)::bigint as bytes\n"
        f"from (select *, epoch(ended_at) as at from attempts) as attempts\n"
        f"    asof join (values {listed}) as runs(start, began) on attempts.at >= runs.start\n"
        "group by began order by began desc",
        (Column("began", "began", "moment"), Column("ended", "ended", "moment"),
         Column("requests", "requests", "count"), Column("pages", "pages", "count"),
         Column("visited_again", "of these again", "count"), Column("errors", "errors", "count"),
         Column("bytes", "downloaded", "bytes")),
        empty="Nothing was fetched yet.",
    )  # fmt: skip
    ago = f" The last began {lasting(asked.now - began[-1])} ago." if began else ""
    return BrowsePage(
        name="runs",
        title="Runs",
        about=f"A run ends with its command, or with a pause of ten minutes.{ago}",
        tables=(query,),
        facts={"began": began},
    )
