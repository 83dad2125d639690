-- The queries of the pages about a collection, under the names of their tables (browse_tables.toml).

-- name: last
-- The last request for each URL.
select * from fetches where purpose = 'page' and outcome <> 'excluded'
    {where}qualify row_number() over (partition by url order by started_at desc) = 1

-- name: refused
-- Everything that was not requested, and when that was decided.
select 'when found' as decided, refused as reason, rule, url, site, found_at as seen_at
from discoveries where refused is not null
union all
select 'before the request', reason, rule, url, site, started_at from fetches where outcome = 'excluded'

-- name: figures.status
select coalesce(status::varchar, 'no response') as status, count(*) as urls,
    coalesce(case when status is null then min(reason) end, '') as reason
from ({last})
group by status order by urls desc, status

-- name: figures.depth
select depth as clicks, count(*) as urls from ({last})
group by depth order by depth

-- name: figures.types
select coalesce(nullif(lower(trim(split_part(content_type, ';', 1))), ''), 'not given') as type,
    count(*) as urls, sum(bytes)::bigint as bytes
from ({last})
group by type order by urls desc, type

-- name: figures.times
select case when duration <= 0.1 then 0.1 when duration <= 0.2 then 0.2 when duration <= 0.5 then 0.5
    when duration <= 1 then 1 when duration <= 2 then 2 when duration <= 5 then 5
    when duration <= 10 then 10 else 1e9 end::double as up_to, count(*) as urls
from ({last})
where duration is not null group by up_to order by up_to

-- name: figures.rate
{rate}

-- name: site.languages
-- The declared languages of the last readings, without their regions.
select coalesce(nullif(split_part(lower(language), '-', 1), ''), 'unknown') as language, count(*) as pages
from (select language from pages where site = {site}
    qualify row_number() over (partition by url order by read_at desc) = 1)
group by 1 order by 2 desc, 1

-- name: site.sitemaps
select url, kind, origin, entries, outcome, problem_count, changes, visits, epoch(read_at) as read_at,
    epoch(due_at) as due_at, retired
from sitemap_files where site = {site}
order by entries desc, url

-- name: site.troubles
select coalesce(reason, 'http-' || status) as reason, count(*) as urls, max(url) as url,
    epoch(max(started_at)) as last_at
from ({last})
where outcome = 'failed' or status >= 400 or reason is not null
group by all order by urls desc, reason

-- name: site.pages
select url, arg_max(title, read_at) as title, arg_max(language, read_at) as language,
    arg_max(main_length, read_at) as main_length, epoch(max(read_at)) as read_at
from pages where site = {site}
group by url order by read_at desc, url

-- name: url.found
select source, referrer, anchor, depth, epoch(found_at) as at, is_new, refused, rule
from discoveries where url = {url}
order by found_at, referrer

-- name: url.visits
select epoch(started_at) as at, outcome, status, reason, rule, lane, duration, bytes, content_type,
    target, attempt, ip
from fetches where url = {url}
order by started_at desc

-- name: url.versions
select epoch(read_at) as at, title, language, mime, main_length, links, forms, noindex, canonical
from pages where url = {url}
order by read_at desc

-- name: url.changes
select epoch(seen_at) as at, level, is_change from changes where url = {url}
order by seen_at desc

-- name: url.permitted
select use, answer, decided_by, conditions, conflict, explained, evidence
from permitted where url = {url}
order by use

-- name: url.outlinks
select target, anchor, rel, kind, is_internal from links
where page = {url} and read_at = (select max(read_at) from pages where url = {url})

-- name: url.inlinks
select page, max(anchor) as anchor, max(rel) as rel, bool_or(is_internal) as is_internal
from links where target = {url}
group by page order by page

-- name: sitemaps.files
select url, kind, origin, entries, outcome, problem_count, changes, visits,
    epoch(read_at) as read_at, epoch(due_at) as due_at, retired
from sitemap_files
{where}order by entries desc, url

-- name: sitemaps.formats
select * from sitemap_formats order by entries desc, format

-- name: sitemaps.fields
select * from sitemap_fields order by entries desc, site

-- name: sitemaps.problems
select problem, count(*) as files, max(url) as url
from (select url, unnest(problems) as problem from sitemap_files)
group by problem order by files desc, problem

-- name: freshness.classes
select case when changed = 0 then 'never' when changed < visits / 4 then 'seldom (under a quarter of visits)'
    when changed < visits * 3 / 4 then 'often' else 'nearly always (three quarters and more)' end as changes,
    count(*) as pages, sum(visits)::bigint as comparisons, sum(changed)::bigint as changed
from (select url, count(*) as visits, count(*) filter (where is_change) as changed from changes group by url)
group by all order by min(changed / visits)

-- name: freshness.rates
select * from change_rates order by changes_a_day desc nulls last, site

-- name: forms.forms
select url, site, arg_max(title, read_at) as title, arg_max(forms, read_at) as forms,
    epoch(max(read_at)) as read_at
from pages group by url, site having arg_max(forms, read_at) > 0 order by forms desc, url

-- name: forms.from_forms
select url, referrer, epoch(found_at) as found_at, refused from discoveries where source = 'form'
order by found_at desc, url

-- name: excluded.rules
select reason, coalesce(rule, '') as rule, decided, count(distinct url) as urls,
    count(distinct site) as sites, max(url) as url
from ({refused})
group by all order by urls desc, reason, rule

-- name: reason.urls
select url, max(rule) as rule, max(decided) as decided, epoch(max(seen_at)) as seen_at
from ({refused})
where reason = {reason}{rule}
group by url order by seen_at desc, url

-- name: reason.failed
select url, site, epoch(started_at) as started_at, detail from fetches
where coalesce(reason, 'http-' || status) = {reason} and outcome <> 'excluded'
qualify row_number() over (partition by url order by fetches.started_at desc) = 1
order by fetches.started_at desc, url

-- name: runs.runs
select began, epoch(max(ended_at)) as ended, count(*) as requests, count(*) filter (where is_page) as pages,
    count(*) filter (where is_page and lane = 'refresh') as visited_again,
    count(*) filter (where is_error) as errors, sum(bytes)::bigint as bytes
from (select *, epoch_us(ended_at) as at from attempts) as attempts
    asof join (values {listed}) as runs(start, began) on attempts.at >= runs.start
group by began order by began desc
