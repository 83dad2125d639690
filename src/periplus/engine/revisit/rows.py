"""Views of the table `changes`, and questions."""

from __future__ import annotations

from typing import Final

from periplus.model.rows import TableQuestion, TableView

_CHANGE_RATES: Final = """\
with visits as (
    select url, site, is_change,
        date_diff('second', lag(seen_at) over (partition by url order by seen_at), seen_at) / 86400.0 as days
    from changes)
select site, count(*) as comparisons, count(*) filter (where is_change) as changed,
    count(*) filter (where is_change) / count(*) as share, avg(days) as days_between,
    -ln((count(*) - count(*) filter (where is_change) + .5) / (count(*) + .5)) / nullif(avg(days), 0) as changes_a_day
from visits group by site"""

_LASTMOD_TRUST: Final = """\
with visits as (
    select url, site, seen_at, level in ('minor', 'major') as has_changed,
        coalesce(lag(seen_at) over (partition by url order by seen_at), (
            select min(ended_at) from fetches where fetches.url = changes.url and outcome = 'fetched')) as before
    from changes),
told as (
    select url, read_at, max(lastmod) over (partition by url order by read_at range unbounded preceding) as lastmod
    from sitemap_entries where kind = 'page' and lastmod is not null and url in (select url from changes)),
later as (
    select visits.*, told.lastmod from visits asof left join told
    on visits.url = told.url and visits.seen_at >= told.read_at),
judged as (
    select later.*, coalesce(later.lastmod > told.lastmod, false) as has_moved, told.lastmod is not null as is_dated
    from later asof left join told on later.url = told.url and later.before >= told.read_at)
select site, count(*) as revisits, count(*) filter (where not has_changed) as needless,
    count(*) filter (where not has_changed) / count(*) as needless_share,
    count(*) filter (where is_dated) as dated, count(*) filter (where has_moved) as moved,
    count(*) filter (where has_moved and has_changed) as justified,
    count(*) filter (where has_moved and has_changed) / nullif(count(*) filter (where has_moved), 0) as precision,
    count(*) filter (where has_moved and has_changed)
        / nullif(count(*) filter (where is_dated and has_changed), 0) as recall
from judged group by site having count(*) filter (where is_dated) > 0"""

VIEWS: Final = (
    TableView("change_rates", "How often pages of each site had changed when they were visited again.", _CHANGE_RATES),
    TableView(
        "lastmod_trust",
        "How often pages had changed when their lastmod was updated, by site; and needless visits.",
        _LASTMOD_TRUST,
    ),
)

QUESTIONS: Final = (
    TableQuestion(
        "change_rates",
        "How often pages had changed at the next visit, and changes a day.",
        "Sites that never change can wait; `periplus watch` learns this page by page.",
        "select * from change_rates order by changes_a_day desc nulls last, site",
    ),
    TableQuestion(
        "lastmod_trust",
        "Whether lastmod can be trusted: updates with a change of the page, and needless visits.",
        "Where lastmod is right, visit what it names; where it is not, visits go by the history of each page.",
        "select * from lastmod_trust order by dated desc, site",
    ),
)
