"""The checks of a site that are one query each, with the texts of their findings.

A query returns `url`, `note`, `via`, `kind` and `weight` (see `SiteTable.found`) from the tables of `site_table`,
`page_facts` and `audited_checks`, the answers to requests for embedded files. `audited_judged` has the pages that can
have a fault: those that exist, with `is_index` for those that search engines may show.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from periplus.view.findings import Severity

from .audited_page import PAGE_NUMBER
from .results import Area, SiteFindingKind

# ruff: noqa: S608 - SQL is composed of constants of this module

E, W, N = Severity.ERROR, Severity.WARNING, Severity.NOTICE

JUDGED: Final = """
create or replace temp table audited_judged as
select url, pagerank, not coalesce(noindex, false) and leads_to is null as is_index
from audited
where is_page and not is_soft_error and coalesce(mime, 'text/html') in ('text/html', 'application/xhtml+xml')
"""
FAULTS: Final = """
select url, note, '' as via, kind, pagerank as weight from audited_faults join audited_judged using (url)
where name = $name and (is_index or $of_all)
"""
"""The pages with a fault that a page check found."""
FAULTS_BY_KIND: Final = """
select kind, any_value("group") as "group", count(*) as pages from audited_faults join audited_judged using (url)
where name = $name and (is_index or $of_all) group by kind
"""

HEAVY_HTML: Final = 1_000_000
"""Bytes of HTML: a long book."""
HEAVY_PAGE: Final = 4_000_000
"""Bytes of a page with its files: the median page of the web has two to three million."""
HEAVY_IMAGE: Final = 500_000
"""Bytes of an image: ten times the median."""
MANY_REQUESTS: Final = 100
"""Files of a page: the median page of the web has about 70."""
LONG_URL: Final = 250
"""Characters; some programs cut longer ones off."""
_MIN_PAGES: Final = 20
_FEW: Final = 0.1
"""Share of the pages up to which something is an exception; beyond that the site is built like that."""


class SiteCheck(NamedTuple):
    """A kind of fault, the query that finds it, and the query for how many could have it."""

    kind: SiteFindingKind
    sql: str
    of: str
    needs_whole: bool = False
    """Whether all links have to be known."""
    needs_pages: bool = True
    """Whether the stored pages have to be read."""


def _check(
    area: Area, name: str, severity: Severity, title: str, why: str, advice: str, sql: str, *,
    fault: str, fix: str, of: str, sure: str = "certain", needs_whole: bool = False, needs_pages: bool = True,
) -> SiteCheck:  # fmt: skip
    kind = SiteFindingKind(name, severity, title, why, advice, area).with_example(fault, fix, sure=sure)
    return SiteCheck(kind, sql, of, needs_whole, needs_pages)


_INDEXED: Final = "select count(*) from audited_judged where is_index"
_OTHER_CANONICAL: Final = "select count(*) from audited where is_page and canonical <> url"
_ALTERNATES: Final = """
select page as url, case when line = 0 then 'Link header' else 'line ' || line end || ': hreflang ' || hreflang || ' '
        || audited_alternates.url || {note} as note,
    '' as via, '' as kind, audited_judged.pagerank as weight
from audited_alternates join audited_judged on audited_judged.url = page
    join audited as target on target.url = audited_alternates.url
where page <> audited_alternates.url and {condition}
qualify row_number() over (partition by page order by line) = 1
"""
_ALTERNATES_OF: Final = """
select count(distinct page) from audited_alternates join audited as target on target.url = audited_alternates.url
where page <> audited_alternates.url and target.is_crawled
"""
_FILE_SIZES: Final = """
select page, sum(bytes) as files from audited_embedded join audited_checks using (url)
where bytes is not null and kind <> 'card' group by page
"""

_LINKS: Final = """
select page as url,
    first({note}) || case when count(*) > 1 then ' (and ' || (count(*) - 1) || ' more)' else '' end as note,
    '' as via, '' as kind, count(*) as weight
from current_links join audited_judged on audited_judged.url = page
where list_contains($sites, target_site) and is_index and current_links.kind = 'a' and {condition} group by page
"""
_EXCEPTIONS: Final = f"""
with found as ({{found}}),
total as (select count(*) as pages from audited_judged where is_index),
counts as (select kind as of_kind, count(*) as pages from found group by kind)
select found.* from found join counts on of_kind = kind, total
where total.pages >= {_MIN_PAGES} and counts.pages <= {_FEW} * total.pages
"""
"""Pages that differ from nearly all pages of the site, each kind for itself."""
_VAGUE: Final = ", ".join(
    "'" + text.replace("'", "''") + "'"
    for text in (
        "click here", "click this", "click", "here", "right here", "this", "this link", "link", "more", "more info",
        "more information", "read more", "learn more", "see more", "find out more", "continue reading",
        "hier", "hier klicken", "klick hier", "klicke hier", "klicken sie hier", "mehr", "mehr lesen", "mehr erfahren",
        "mehr infos", "mehr informationen", "weiterlesen", "siehe", "dies", "das",
        "ici", "cliquez ici", "cliquer ici", "plus", "plus d'infos", "en savoir plus", "lire la suite", "lire plus",
        "voir plus", "ce lien", "aquí", "aqui", "haga clic aquí", "haz clic aquí", "click aquí", "click aqui",
        "clicka aquí", "clicka aqui", "pincha aquí", "pincha aqui", "más", "mas", "más información", "más informacion",
        "mas información", "mas informacion", "leer más", "ver más", "este", "enlace", "este enlace",
        "clique aqui", "mais", "mais informação", "mais informações", "saiba mais", "leia mais", "veja mais",
        "clicca qui", "qui", "scopri di più", "leggi di più", "leggi tutto", "continua a leggere", "altro",
        "klik hier", "lees meer", "lees verder", "meer", "meer info", "meer informatie",
        "här", "klicka här", "läs mer", "mer", "mer info", "mer information",
        "ここをクリック", "こちらをクリック", "こちら", "リンク", "続きを読む", "続く", "全文表示", "もっと見る",
        "여기", "여기를 클릭", "클릭", "링크", "자세히", "자세히 보기", "더 보기", "계속", "이동", "전체 보기",
        "اطلاعات بیشتر", "این", "اینجا", "اینجا بزنید", "اینجا کلیک کنید", "بیشتر", "بیشتر بخوانید", "بیشتر بدانید",
        "மேலும் அறிக", "மேலும் தகவலுக்கு", "மேலும் தரவுகளுக்கு", "தயவுசெய்து இங்கே அழுத்தவும்", "இங்கே கிளிக் செய்யவும்",
    )
)  # fmt: skip
"""Texts of links that say nothing of their targets, in twelve languages; not those that name pages, such as Start."""

SITE_CHECKS: Final = (
    _check(
        Area.PAGES, "h1-duplicate", N, "Pages with the h1 of another page: {count} of {of} pages",
        "Visitors and search engines cannot tell the pages apart by their main heading.",
        "Give every page an h1 of its own.",
        f"""
        with headed as (
            select audited.url, h1, lower(trim(h1)) as folded, audited_judged.pagerank
            from audited_read join audited_judged using (url) join audited using (url)
            where audited_judged.is_index and is_first and not coalesce(canonical <> audited.url, false)
                and trim(coalesce(h1, '')) <> ''),
        alike as (
            select *, count(*) over (partition by folded) as same, count(*) over () as pages,
                case when row_number() over ordered = 1 then lead(url) over ordered
                    else first_value(url) over ordered end as other
            from headed window ordered as (partition by folded order by length(url), url))
        select url, h1 as note, other as via, '' as kind, pagerank as weight from alike
        where same > 1 and same <= greatest(3, {_FEW} * pages)
        """,
        fault="<h1>Pies</h1> on /pies/apple and on /pies/plum", fix="<h1>Apple pie</h1> and <h1>Plum pie</h1>",
        of=_INDEXED,
    ),
    _check(
        Area.PAGES, "canonical-missing", N,
        "Pages without a canonical URL, which other pages have: {count} of {of} pages",
        "If the page is reachable by several URLs, search engines choose one of them.",
        "Let the page name itself: <link rel=canonical>.",
        _EXCEPTIONS.format(
            found="select url, '' as note, '' as via, '' as kind, audited_judged.pagerank as weight"
            " from audited join audited_judged using (url) where is_index and canonical is null"
            " and first_source <> 'seed' and url in (select url from audited_read)"
        ),
        fault="<head> without a canonical URL, on one page of a hundred",
        fix='<link rel="canonical" href="https://example.org/pie">', of=_INDEXED,
        sure="certain; left out where more than a tenth of the pages have none",
    ),
    _check(
        Area.LINKS, "url-style", N,
        "URLs with capital letters, underscores, spaces or double slashes: {count} of {of} pages",
        "Such URLs are mistyped easily, and often exist in a second spelling.",
        "Use small letters and hyphens, and redirect the old URL.",
        _EXCEPTIONS.format(
            found="""
            select url, kind || ': ' || path as note, '' as via, kind, pagerank as weight from (
                select *, case when contains(path, '//') then 'double slash'
                    when regexp_matches(path, '%20|\\+') then 'space'
                    when regexp_matches(regexp_replace(path, '%[0-9A-F][0-9A-F]', '', 'g'), '[A-Z]')
                        then 'capital letters'
                    when contains(path, '_') then 'underscores' end as kind
                from (select *, regexp_extract(url, '^[a-z]+://[^/]+(/[^?]*)', 1) as path from audited_judged)
                where is_index)
            where kind is not null
            """
        ),
        fault="/Pies//Apple_Pie", fix="/pies/apple-pie", of=_INDEXED, needs_pages=False,
        sure="certain; left out where more than a tenth of the URLs are like that",
    ),
    _check(
        Area.PAGES, "title-of-another", N, "Titles that are the h1 of another page: {count} of {of} pages",
        "Searchers who click on this title expect the other page.",
        "Give each page a title that fits its own subject.",
        """
        with headings as (
            select lower(trim(h1)) as h1, min(url) as url from audited_read join audited_judged using (url)
            where is_index and trim(coalesce(h1, '')) <> '' group by all having count(*) = 1),
        titled as (
            select audited.url, title, lower(trim(title)) as folded, lower(trim(coalesce(h1, ''))) as own,
                audited_judged.pagerank
            from audited join audited_judged using (url) join audited_read using (url)
            where is_index and trim(coalesce(title, '')) <> '' and not coalesce(canonical <> audited.url, false))
        select titled.url, titled.title || ', the h1 of ' || headings.url as note, '' as via, '' as kind,
            titled.pagerank as weight
        from titled join headings on headings.h1 = titled.folded
            join titled as other on other.url = headings.url
        where titled.url <> headings.url and titled.own <> '' and titled.own <> titled.folded
            and other.folded <> titled.folded and (contains(titled.folded, ' ') or ord(titled.folded) > 11903)
        """,
        fault="<title>Apple pie</title> ... <h1>Plum cake</h1>, while another page has <h1>Apple pie</h1>",
        fix="<title>Plum cake</title> ... <h1>Plum cake</h1>", of=_INDEXED,
    ),
    _check(
        Area.PAGES, "canonical-noindex", W,
        "Canonical URLs marked noindex: {count} of {of} pages with another canonical URL",
        "The page defers to one that is kept out of search, so neither is found.",
        "Remove noindex from the canonical page, or let the page name itself.",
        """
        select page.url, 'canonical ' || page.canonical || ' is noindex' as note, '' as via, '' as kind,
            page.pagerank as weight
        from audited as page join audited as target on target.url = page.canonical
        where page.is_page and not page.is_soft_error and page.canonical <> page.url and target.is_page
            and target.noindex
        """,
        fault='<link rel="canonical" href="/print/pie">, and there <meta name="robots" content="noindex">',
        fix='<link rel="canonical" href="/pie">', of=_OTHER_CANONICAL, needs_pages=False,
    ),
    _check(
        Area.PAGES, "hreflang-errors", E, "hreflang links to errors: {count} of {of} pages with hreflang links",
        "The version in that language does not exist.",
        "Link to URLs that answer 200.",
        _ALTERNATES.format(
            note="' returns ' || coalesce(target.status::varchar, target.reason)", condition="target.is_error"
        ),
        fault='<link rel="alternate" hreflang="de" href="/gone">',
        fix='<link rel="alternate" hreflang="de" href="/de/">',
        of=_ALTERNATES_OF,
    ),
    _check(
        Area.PAGES, "hreflang-redirects", W, "hreflang links to redirects: {count} of {of} pages with hreflang links",
        "Search engines ignore a version that redirects.",
        "Link to the final URL.",
        _ALTERNATES.format(
            note="' redirects to ' || coalesce(target.leads_to, '?')",
            condition="target.is_redirect and not target.is_error",
        ),
        fault='<link rel="alternate" hreflang="de" href="/old-de">',
        fix='<link rel="alternate" hreflang="de" href="/de/">', of=_ALTERNATES_OF,
    ),
    _check(
        Area.PAGES, "hreflang-noindex", W, "hreflang links to noindex pages: {count} of {of} pages with hreflang links",
        "A page that is kept out of search cannot be shown to speakers of that language.",
        "Remove noindex from the page, or the link to it.",
        _ALTERNATES.format(note="' is noindex'", condition="target.is_page and target.noindex"),
        fault='<link rel="alternate" hreflang="de" href="/draft-de">',
        fix='<link rel="alternate" hreflang="de" href="/de/">', of=_ALTERNATES_OF,
    ),
    _check(
        Area.LINKS, "broken-fragments", W, "Links to #fragments that do not exist: on {count} of {of} pages",
        "Visitors land at the top of the page instead of the intended place.",
        "Add the id to the target, or correct the part after #.",
        """
        with places as (select url, unnest(ids) as hash from audited_ids),
        dead as (
            select links.page, links.url, links.fragment, links.line from audited_fragments as links
                semi join audited_ids using (url)
                semi join audited_judged as judged on judged.url = links.page
                anti join places on places.url = links.url and places.hash = links.hash
                anti join places as decoded on decoded.url = links.url and decoded.hash = links.other)
        select page as url, 'line ' || min(line) || ': #' || arg_min(fragment, row(line, fragment))
            || case when arg_min(url, row(line, fragment)) = page then ''
                else ' in ' || arg_min(url, row(line, fragment)) end
            || case when count(*) > 1 then ' (and ' || (count(*) - 1) || ' more)' else '' end as note,
            '' as via, '' as kind, count(*) as weight
        from dead group by page
        """,
        fault='<a href="#fillings">, but no id="fillings"', fix='<h2 id="fillings">',
        of="select count(distinct page) from audited_fragments", sure="certain, unless a script makes the place",
    ),
    _check(
        Area.LINKS, "links-to-forbidden", W, "Links to pages that robots.txt forbids: {count} of {of} linked URLs",
        "Crawlers cannot follow them, and search engines may list the bare URL without a description.",
        "Allow the pages, or do not link to them; noindex keeps a page out of search, robots.txt does not.",
        """
        select url, 'Disallow: ' || forbidden_by || ', linked from ' || case when pages = 1 then 'one page' else
            pages || ' pages' end as note, page as via, '' as kind, pages as weight
        from audited join audited_links using (url) where forbidden_by is not null
        """,
        fault='<a href="/private/pies">, and in robots.txt Disallow: /private/', fix="Allow: /private/pies",
        of="select count(*) from audited_links", needs_pages=False,
    ),
    _check(
        Area.LINKS, "nofollow-internal", N, "Pages with nofollow on links within the site: {count} of {of} pages",
        "nofollow tells crawlers not to trust the site's own pages.",
        "Remove nofollow; use noindex for pages that should stay out of search.",
        _LINKS.format(condition="list_contains(string_split(rel, ' '), 'nofollow') and page <> target", note="target"),
        fault='<a rel="nofollow" href="/pies">', fix='<a href="/pies">', of=_INDEXED, needs_pages=False,
    ),
    _check(
        Area.LINKS, "tracking-parameters", N,
        "Pages with tracking parameters in links within the site: {count} of {of} pages",
        "They overwrite where a visitor came from, and give crawlers several URLs for each page.",
        "Remove utm_ and similar parameters from links within the site.",
        _LINKS.format(
            condition="contains(target, '?') and regexp_matches(target,"
            " '[?&](utm_[a-z]+|gclid|fbclid|msclkid|dclid|yclid|mc_eid|igshid)=', 'i')",
            note="target",
        ),
        fault='<a href="/pies?utm_source=home">', fix='<a href="/pies">', of=_INDEXED, needs_pages=False,
    ),
    _check(
        Area.LINKS, "vague-links", N, "Pages with links such as “click here” and “read more”: {count} of {of} pages",
        "Screen reader users and search engines cannot tell where the link leads.",
        "Describe the target in the link text.",
        _LINKS.format(
            condition=f"length(anchor) < 40 and lower(rtrim(ltrim(anchor, ' «‹<←'), ' .…:!»›>→')) in ({_VAGUE})",
            note="anchor || ': ' || target",
        ),
        fault='For our pies <a href="/pies">click here</a>', fix='See <a href="/pies">our pies</a>',
        of=_INDEXED, needs_pages=False,
    ),
    _check(
        Area.LINKS, "one-inlink", N, "Pages with a single link to them: {count} of {of} pages",
        "If that link goes away, they cannot be found; search engines rank pages with few links lower.",
        "Link to them from related pages.",
        f"""
        with found as (
            select url, page, pagerank from audited join audited_links using (url)
            where is_good and is_first and pages = 1 and first_source <> 'seed'
                and not regexp_matches(url, '{PAGE_NUMBER}', 'i')),
        total as (select count(*) as pages from audited where is_good and is_first)
        select url, 'linked from one page' as note, page as via, '' as kind, pagerank as weight from found, total
        where total.pages >= {_MIN_PAGES} and (select count(*) from found) <= {_FEW} * total.pages
        """,
        fault="a page that only an old article links to", fix="links from its section and from related pages",
        of="select count(*) from audited where is_good and is_first", needs_whole=True, needs_pages=False,
    ),
    _check(
        Area.LINKS, "long-urls", N, f"URLs longer than {LONG_URL} characters: {{count}} of {{of}} pages",
        "Mail programs and chats may cut them off, and people cannot read them.",
        "Shorten the path, and drop parameters that do not select content.",
        f"""
        select url, length(url) || ' characters' as note, '' as via, '' as kind, length(url) as weight
        from audited_judged where is_index and length(url) > {LONG_URL}
        """,
        fault="/pies/apple/with/a/very/long/path/...", fix="/pies/apple", of=_INDEXED, needs_pages=False,
    ),
    _check(
        Area.COST, "charged-without-consent", E, "Responses that claim to have been paid: {count} of {of} responses",
        "The crawler sends no offer to pay, so nobody agreed to this charge.",
        "Charge only for requests that offer a price (crawler-exact-price, crawler-max-price); answer others with 402.",
        """
        select url, concat_ws(' ', price_currency, price_amount) as note, '' as via, '' as kind, 1.0 as weight
        from (select distinct url, price_currency, price_amount from fetches
            where price_scheme is not null and status < 400) join audited using (url)
        """,
        fault="200 OK with crawler-charged: USD 0.01, although nothing was offered",
        fix="402 Payment Required with crawler-price: USD 0.01",
        of="select count(*) from audited", needs_pages=False,
    ),
    _check(
        Area.MEDIA, "heavy-images", W,
        f"Images larger than {HEAVY_IMAGE // 1000} kB: {{count}} of {{of}} checked",
        "On phones, large images take up most of the loading time.",
        "Scale them to the displayed size, and use WebP or AVIF.",
        f"""
        select url, printf('%.1f MB', bytes / 1e6) as note, page as via, '' as kind, bytes as weight
        from audited_embeds join audited_checks using (url) where kind = 'image' and bytes > {HEAVY_IMAGE}
        """,
        fault="a 4 MB photo straight from the camera", fix="the same photo, 1,600 pixels wide, 150 kB",
        of="select count(*) from audited_embeds join audited_checks using (url) where kind = 'image' and bytes > 0",
    ),
    _check(
        Area.MEDIA, "heavy-pages", W, "Heavy pages: {count} of {of} pages",
        "Visitors on phones pay for every megabyte, and may leave before the page has loaded.",
        "Split long pages; scale images; load scripts and fonts only where they are used.",
        f"""
        with sizes as ({_FILE_SIZES})
        select url, printf('%.1f MB of HTML', audited_read.bytes / 1e6)
            || case when files > 0 then printf(', %.1f MB with its files', (audited_read.bytes + files) / 1e6)
            else '' end as note, '' as via, '' as kind, audited_read.bytes + coalesce(files, 0) as weight
        from audited_read join audited_judged using (url) left join sizes on page = url
        where audited_read.bytes > {HEAVY_HTML} or audited_read.bytes + coalesce(files, 0) > {HEAVY_PAGE}
        """,
        fault="a page of 6 MB", fix="a page of 600 kB", of="select count(*) from audited_read",
        sure="certain for HTML; files count if their size was requested",
    ),
    _check(
        Area.MEDIA, "many-requests", N, f"Pages that load more than {MANY_REQUESTS} files: {{count}} of {{of}} pages",
        "Every file is another request, and requests are slow on phones.",
        "Bundle style sheets and scripts, combine icons, and load images lazily.",
        f"""
        select url, requests || ' images, styles and scripts' as note, '' as via, '' as kind, requests as weight
        from audited_read join audited_judged using (url) where requests > {MANY_REQUESTS}
        """,
        fault="140 <script> elements", fix="one bundle", of="select count(*) from audited_read",
    ),
)  # fmt: skip
