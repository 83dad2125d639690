"""Views of the tables `sitemaps` and `sitemap_entries`, and questions."""

from __future__ import annotations

from typing import Final

from periplus.model.rows import TableQuestion, TableView

_LAST_WHOLE: Final = """\
select e.* from sitemap_entries e join (
    select sitemap, max(read_at) as read_at from sitemap_entries where kind = 'summary' group by sitemap)
using (sitemap, read_at) where kind = 'page'"""

VIEWS: Final = (
    TableView(
        "sitemap_files",
        "The current state of every sitemap, feed and archive.",
        "select * from sitemaps qualify row_number() over (partition by url order by visited_at desc) = 1",
    ),
    TableView(
        "sitemap_formats",
        "Number of files of each format, of pages they list, and of files with problems.",
        "select coalesce(kind, 'unread') as format, count(*) as files, sum(entries)::bigint as entries,"
        " sum(bytes)::bigint as bytes,"
        " count(*) filter (where problem_count > 0) as with_problems\nfrom sitemap_files group by format",
    ),
    TableView("listed_entries", "The entries of the last complete reading of every sitemap.", _LAST_WHOLE),
    TableView(
        "sitemap_fields",
        "Share of listed pages with a lastmod, a changefreq, a priority, by site.",
        "select site, count(*) as entries, count(lastmod) / count(*) as lastmod,"
        " count(changefreq) / count(*) as changefreq, count(priority) / count(*) as priority\n"
        "from listed_entries group by site",
    ),
)

QUESTIONS: Final = (
    TableQuestion(
        "sitemap_formats",
        "In which formats sites list their pages (table 1), and how many files had problems.",
        "Problems are explained in docs/problems.md; `periplus read FILE` shows where they are.",
        "select * from sitemap_formats order by entries desc, format",
    ),
    TableQuestion(
        "sitemap_fields",
        "The metadata of listed pages: lastmod, changefreq, priority.",
        "Without lastmod a site has to be visited to know what changed.",
        "select * from sitemap_fields order by entries desc, site",
    ),
)
