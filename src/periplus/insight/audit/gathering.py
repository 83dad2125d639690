"""The URLs of one site with what an audit asks of each, as one table; and how findings are drawn from it.

`audited` is a row for every URL of the site that was seen: the columns of `urls`, and

* `is_listed`: a sitemap lists it (a feed does not count: it tells what is new, not what there is);
* `forbidden_by`: the rule of robots.txt that kept us from asking for it;
* `is_apology`: it answers 200 and says that the page is not there;
* `is_first`: of all names of one page the listed, then the shortest; `same_as` is that name, of the others;
* `is_error`, `is_redirect`, `is_good`: how it answered; a good page is there, may be indexed, and is no apology.

`audited_entries` is what its sitemaps say of each listed URL, as they were last read (`entries`).
"""

# ruff: noqa: S608 - SQL is put together from our own words here; what others wrote is a parameter

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from .catalogue import KINDS
from .entries import gather_entries
from .values import Example, Finding, Severity

if TYPE_CHECKING:
    from periplus.insight.views import Views

EXAMPLES: Final = 5
_APOLOGY: Final = (
    r"(?i)(\b404\b|not found|not here|cannot be found|could ?n.?t be found|does ?n.?t exist|does not exist"
    r"|no longer (here|available|exists)|nicht gefunden|introuvable|no encontrad|non trovat|niet gevonden"
    r"|n[aã]o encontrad|ikke fundet|hittades inte|nie znaleziono|не найден)"
)
_LONGEST_APOLOGY: Final = 3000
"""Characters. A longer page with such a title is about pages that are not there."""

_LISTED: Final = """
create or replace temp table audited_listed as
select url, count(*) as tellings, max(priority) as priority from discoveries
where source = 'sitemap' and list_contains($sites, site) group by url
"""
_AUDITED: Final = f"""
create or replace temp table audited as
with forbidden as (
    select url, any_value(rule) as rule from fetches
    where purpose = 'page' and outcome = 'excluded' and reason = 'robots' and list_contains($sites, site) group by url),
known as (
    select urls.*, audited_listed.url is not null as is_listed,
        case when not is_crawled then forbidden.rule end as forbidden_by,
        is_page and coalesce(text_length, 0) <= {_LONGEST_APOLOGY}
            and regexp_matches(coalesce(title, ''), $apology) as is_apology
    from urls left join audited_listed using (url) left join forbidden using (url)
    where list_contains($sites, site)),
groups as (
    select cluster, arg_min(url, row(not is_listed, length(url), url)) as first
    from known where is_page group by cluster)
select * exclude (same_as),
    case when is_page and canonical <> url then canonical when is_page and not is_first then first end as same_as,
    is_crawled and (outcome = 'failed' or coalesce(status, 0) >= 400) as is_error,
    is_crawled and (outcome = 'redirected' or (leads_to is not null and leads_to <> url)) as is_redirect,
    is_page and not is_apology and is_indexable and leads_to is null as is_good
from (select known.*, first, is_page and first = url as is_first from known left join groups using (cluster))
"""


class Found(Struct, frozen=True):
    """How many rows a question has, some of them, and how many there are of each kind."""

    count: int
    examples: tuple[Example, ...] = ()
    parts: dict[str, int] = {}


class Gathered:
    """A site's URLs, ready to be asked."""

    def __init__(self, views: Views, sites: Sequence[str], *, examples: int = EXAMPLES) -> None:
        self.views = views
        self.sites = list(sites)
        self._examples = examples
        views.prepare("urls discoveries fetches links pages sitemap_entries sitemap_files changes listed_entries")
        views.database.execute(_LISTED, {"sites": self.sites})
        views.database.execute(_AUDITED, {"sites": self.sites, "apology": _APOLOGY})
        gather_entries(views.database, self.sites)

    def number(self, sql: str, **parameters: object) -> int:
        """One number; nothing is 0."""
        rows = self.views.database.execute(sql, self._given(sql, parameters)).fetchall()
        return int(rows[0][0] or 0) if rows else 0

    def row(self, sql: str, **parameters: object) -> dict[str, object]:
        """One row, by the names of its columns."""
        answer = self.views.database.execute(sql, self._given(sql, parameters))
        names = [column[0] for column in answer.description]
        rows = answer.fetchall()
        return dict(zip(names, rows[0], strict=True)) if rows else {}

    def count(self, condition: str) -> int:
        """How many URLs of the site are so."""
        return self.number(f"select count(*) from audited where {condition}")

    def found(self, sql: str, **parameters: object) -> Found:
        """What a question finds. It gives `url`, `note`, `kind` and `weight`: the heaviest are shown."""
        given = self._given(sql, parameters)
        database = self.views.database
        database.execute(f"create or replace temp table audited_found as {sql}", given)
        count = self.number("select count(*) from audited_found")
        shown = database.execute(
            "select url, note, via from audited_found order by weight desc nulls last, url limit $most",
            {"most": self._examples},
        ).fetchall()
        parts = database.execute(
            "select kind, count(*) as urls from audited_found where kind <> '' group by kind order by urls desc, kind"
        ).fetchall()
        examples = tuple(Example(url or "", note or "", at or "") for url, note, at in shown)
        return Found(count, examples, {str(kind): int(urls) for kind, urls in parts})

    def of_urls(self, condition: str, *, note: str = "''", kind: str = "''") -> Found:
        """What is found among the URLs of the site, those of the highest PageRank first."""
        sql = (
            f"select url, {note} as note, '' as via, {kind} as kind, pagerank as weight from audited where {condition}"
        )
        return self.found(sql)

    def _given(self, sql: str, parameters: dict[str, object]) -> dict[str, object]:
        return parameters | ({"sites": self.sites} if "$sites" in sql else {})


def finding(
    name: str, found: Found, of: int = 0, *, severity: Severity | None = None, **words: object
) -> list[Finding]:
    """The finding of that name, if anything was found."""
    if not found.count:
        return []
    kind = KINDS[name]
    filled = {"count": f"{found.count:,}", "of": f"{of:,}", **words}
    return [
        Finding(
            name=name,
            area=kind.area,
            severity=severity or kind.severity,
            count=found.count,
            of=of,
            title=kind.says.format(**filled),
            why=kind.why.format(**filled),
            advice=kind.advice,
            examples=found.examples,
            parts=found.parts,
        )
    ]
