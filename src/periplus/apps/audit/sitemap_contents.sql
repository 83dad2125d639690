-- name: files
select count(*) from sitemap_files where list_contains($sites, site)
    and (kind in ('urlset', 'index', 'text') or (kind is null and origin <> 'well-known')
        or (kind in ('html', 'unknown') and origin not in ('well-known', 'page')))
    and not list_contains($dropped, url)

-- name: readable
select count(*) from sitemap_files where list_contains($sites, site) and kind in ('urlset', 'index', 'text')

-- name: lists
select count(*) from sitemap_files where list_contains($sites, site) and kind in ('urlset', 'text')

-- name: named
select count(*) from sitemap_files where list_contains($sites, site) and origin not in ('well-known', 'page')
    and not list_contains($dropped, url)

-- name: once_named
select url from sitemap_files where site = $site and origin = 'robots' and parent is null
    and outcome is not null and read_at is null

-- name: looked_for
select count(*) from sitemap_files where list_contains($sites, site) and origin <> 'page'

-- name: children
select entries.url, entries.sitemap from sitemap_entries as entries join (
    select sitemap, max(read_at) as read_at from sitemap_entries where kind = 'summary' group by sitemap)
using (sitemap, read_at) where kind = 'sitemap' and list_contains($sites, site) order by entries.sitemap

-- name: visited
select url from sitemap_files where list_contains($sites, site)

-- name: unread
select url, coalesce(outcome, kind) as note, coalesce(parent, '') as via, coalesce(outcome, kind) as kind,
    0.0 as weight
from sitemap_files where list_contains($sites, site) and origin not in ('well-known', 'page')
    and ((outcome is not null and read_at is null) or kind in ('html', 'unknown'))
    and not list_contains($dropped, url)

-- name: repeated
select url, count(*) || ' times' as note, sitemap as via, '' as kind, count(*) as weight
from listed_entries semi join (select url as sitemap from sitemap_files where kind in ('urlset', 'text'))
    using (sitemap)
where list_contains($sites, site) and url is not null group by url, sitemap having count(*) > 1

-- name: invalid
select url, array_to_string(problems, ', ') as note, '' as via, '' as kind, problem_count as weight
from sitemap_files where list_contains($sites, site) and kind in ('urlset', 'index', 'text') and len(problems) > 0

-- name: problems
select problem, count(*) as files from (
    select unnest(problems) as problem from sitemap_files
    where list_contains($sites, site) and kind in ('urlset', 'index', 'text'))
group by problem order by files desc, problem

-- name: newest
select (epoch(max(read_at)) - epoch(max(lastmod))) / 86400 from audited_entries
