"""The table `permissions`, the view `permitted`, and questions."""

from __future__ import annotations

from typing import Final

from periplus.model.rows import Moment, Number, TableQuestion, TableRow, TableView, Text, Word


class PermissionRow(TableRow, frozen=True):
    """What each source says of a use of a page, with the proof.

    The rows of a page are written together, with the time of its fetch ([permissions.md](permissions.md)). The view
    `permitted` combines the last ones of each page.
    """

    table = "permissions"
    key = ("url", "source", "use", "place", "line", "statement")

    url: Text
    """the page"""
    fetched_at: Moment
    """when it was fetched (`fetches.started_at`)"""
    use: Word | None
    """`search` `train` `ai_input` `archive`; null: a source that says nothing of any"""
    answer: Word
    """`allow` `disallow` `conditional` `unknown`"""
    conditions: Word | None
    """of a licence, separated by commas: `attribution` `share-alike` `non-commercial` `no-derivatives` `pay:TYPE`
    `token` `user` `geo` `license-unreadable`"""
    source: Word
    """`robots` `robots-content-usage` `robots-content-signal` `robots-license` `header-content-usage`
    `header-content-signal` `header-license` `header-robots` `header-tdm` `html-license` `meta-robots` `meta-tdm`
    `tdmrep-json` `http-401` `http-402`"""
    status: Word
    """of the place: `read` `absent` `unreadable` `unreachable`"""
    place: Word | None
    """URL of the file; null: the page itself"""
    line: Number | None
    """line of robots.txt"""
    rule: Word | None
    """the path pattern that decided"""
    statement: Word | None
    """what is written there, at most 200 characters"""
    digest: Word | None
    """SHA-256 of the file as it was read, of the headers, or of the body; null where a page says nothing"""
    record: Word | None
    """its record in the archive: file and offset, separated by a colon"""


_PERMITTED: Final = """\
with last as (
    select * from permissions
    qualify fetched_at = max(fetched_at) over (partition by url)
),
said as (
    select last.* replace (uses.use as use)
    from last join (select unnest(['search', 'train', 'ai_input', 'archive']) as use) as uses
        on last.use is null or last.use = uses.use
),
ordered as (
    select *, case answer when 'disallow' then 3 when 'conditional' then 2 when 'allow' then 1 else 0 end as strictness,
        case when answer = 'unknown' then null else
            case source when 'meta-tdm' then 3 when 'header-tdm' then 2 when 'tdmrep-json' then 1 end end as tdm
    from said
),
spoken as (
    select * from ordered where strictness > 0
    qualify tdm is null or tdm = max(tdm) over (partition by url, use)
),
answered as (
    select url, use, max(strictness) as strictness, count(distinct answer) > 1 as conflict
    from spoken group by url, use
),
decided as (
    select url, use, any_value(answer) as answer, any_value(conflict) as conflict,
        string_agg(distinct source, ', ' order by source) as decided_by,
        string_agg(distinct conditions, ', ' order by conditions) as conditions,
        string_agg(concat_ws(' ', place, 'line ' || line, statement), '; ' order by source, line, statement) as evidence
    from spoken join answered using (url, use, strictness) group by url, use
),
pages_asked as (
    select url, any_value(fetched_at) as fetched_at, unnest(['search', 'train', 'ai_input', 'archive']) as use
    from last group by url
),
unasked as (
    select distinct url, use from said where status = 'unreachable' and answer = 'unknown'
)
select pages_asked.url, pages_asked.use, coalesce(answer, 'unknown') as answer, decided_by,
    coalesce(conflict, false) as conflict, unasked.url is null as explained, conditions, evidence,
    pages_asked.fetched_at
from pages_asked left join decided using (url, use) left join unasked using (url, use)"""

VIEWS: Final = (
    TableView(
        "permitted",
        "What every page may be used for: the strictest answer, who decided, conflicts, and the evidence.",
        _PERMITTED,
    ),
)

QUESTIONS: Final = (
    TableQuestion(
        "permitted",
        "How many pages may be used for what, and who decided.",
        "Crawl with --permissions to record it; periplus export DIR --for training leaves out what may not be used.",
        "select use, answer, decided_by, count(*) as pages, count(*) filter (where conflict) as conflicts,\n"
        "    count(*) filter (where not explained) as unexplained\n"
        "from permitted group by use, answer, decided_by order by use, pages desc, answer, decided_by limit 50",
    ),
    TableQuestion(
        "charged",
        "Responses that name a price, and those that claim to have been paid although nothing was offered.",
        "Ask the site: this program never pays, and sends no field that offers to.",
        "select site, status, price_scheme, price_amount, price_currency, count(*) as responses, min(url) as example\n"
        "from fetches where price_scheme is not null group by all order by responses desc, site limit 50",
    ),
)
