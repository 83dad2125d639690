-- name: not_asked
-- Refusals that are not caused by the source of a URL.
('scheme', 'extension', 'out-of-scope', 'excluded', 'not-included', 'link-depth', 'site-budget')

-- name: listing
-- Sources published by sites: Sitemaps, as opposed to Discovery.
('sitemap', 'feed', 'ping', 'archive')

-- name: discovered
select row_number() over () - 1 as id, md5_number_lower(url) as key, * from (select url, any_value(site) as site,
    min(found_at) as first_seen_at,
    min(found_at) filter (where source in {listing}) as sitemaps_at,
    min(found_at) filter (where source not in {listing}) as discovery_at,
    min(depth) filter (where source not in {listing}) as depth,
    arg_min(source, found_at) as first_source,
    bool_or(source = 'ping' or coalesce(referrer in (select url from sitemaps where origin = 'ping'), false))
        as is_pinged,
    case when bool_or(refused is null) then null else min(refused) end as refused,
    bool_or(source = 'seed') as is_seed
from discoveries where refused is null or refused not in {not_asked} group by url)

-- name: visited
create or replace temp table visited as
with requests as (
    select *, md5_number_lower(url) as key, epoch_us(ended_at) + case
        when reason = 'unwanted-type' then 1::bigint << 61
        when outcome = 'failed' or status = 429 or status >= 500 then 0 else 1::bigint << 61 end as weight
    from fetches where purpose = 'page' and outcome <> 'excluded')
select key, count(*) as visits, min(started_at) as first_visited_at, max(ended_at) as visited_at,
    arg_max(outcome, weight) as outcome, arg_max(status, weight) as status, arg_max_null(reason, weight) as reason,
    arg_max(content_type, weight) as content_type, arg_max_null(target, weight) as target,
    arg_max(duration, weight) as seconds, sum(bytes)::bigint as bytes
from requests group by key

-- name: kept_out
create or replace temp table kept_out as
select md5_number_lower(url) as key, arg_max(reason, ended_at) as kept_out
from fetches where purpose = 'page' and outcome = 'excluded' group by key

-- name: read
create or replace temp table reading as
select md5_number_lower(url) as key, read_at, title, language, mime, canonical,
    coalesce(refresh, script_redirect) as leads_to, noindex, text_length, main_length, links as outlinks, resources,
    coalesce(search = 'disallow', false) as is_not_for_search,
    case when canonical <> url then md5_number_lower(canonical) end as names_key,
    coalesce(list_contains(problems, 'soft-404'), false)
        or url in (select subject from verdicts where judge = 'soft-404') as is_absent
from pages semi join (select url, max(read_at) as read_at from pages group by url) using (url, read_at)

-- name: is_page
(outcome = 'not-modified' or (outcome = 'fetched' and status = 200))

-- name: crowds
create or replace temp table crowds as
with members as (
    select id, cluster, url, split_part(url, '?', 1) as path, sitemaps_at is null as is_unlisted, pagerank
    from told join facts using (id) join visited using (key) join reading using (key)
    where is_crowded and {is_page})
select id, count(*) over (partition by cluster, path) > 1 as has_variants,
    first_value(url) over (partition by cluster order by is_unlisted, pagerank desc, length(url), url) as best
from members

-- name: named
-- The URLs that other pages name as their canonical.
create or replace temp table named as
select told.key as names_key, visits is not null or refused is not null or kept_out is not null as is_asked,
    coalesce({is_page} and read_at is not null, false) as is_there, canonical as names, cluster as named_cluster
from told join facts using (id) left join visited using (key) left join kept_out using (key)
    left join reading using (key)
where key in (select names_key from reading)

-- name: believed
-- The other URL that a page names as its canonical, if that is believed: `policy.duplicates.believe` in SQL.
case
    when canonical is null or canonical = url then null
    when is_asked and not is_there then null
    when names <> canonical then null
    when is_asked then case when named_cluster = cluster then canonical end
    when regexp_extract(canonical, '^[a-z]+://([^/]+)', 1) <> site then null
    when canonical in ('http://' || site || '/', 'https://' || site || '/') then null
    else canonical end

-- name: urls
with known as (
    select told.* exclude (key, is_seed, refused), domain,
        case when visits is null then coalesce(refused, kept_out) else refused end as refused,
        sitemaps_at is not null as by_sitemaps, discovery_at is not null as by_discovery,
        visited.* exclude (key, target), visits is not null as is_crawled,
        reading.* exclude (key, leads_to), coalesce({is_page} and read_at is not null, false) as is_page,
        case when target is not null then target when leads_to <> told.url then leads_to end as leads_to,
        pagerank, inlinks, own_links, clicks, cluster, coalesce(best, told.url) as best, has_variants
    from told join facts using (id) join domains using (site)
        left join visited using (key) left join kept_out using (key)
        left join reading using (key) left join crowds using (id)),
believing as (
    select known.* exclude (names_key), {believed} as believed_canonical from known left join named using (names_key))
select * exclude (id, best, has_variants, is_absent, is_not_for_search),
    case when not is_page then null when best <> url then best else believed_canonical end as same_as,
    is_page and best = url as is_representative,
    is_page and not coalesce(noindex or is_absent or is_not_for_search, false)
        and believed_canonical is null as is_indexable,
    contains(url, '?') and (coalesce(has_variants, false)
        or coalesce(split_part(believed_canonical, '?', 1) = split_part(url, '?', 1), false)) as is_parameter_of_same
from believing

-- name: site_ranks
select site, any_value(urls.domain) as domain, any_value(site_pagerank) as pagerank,
    sum(urls.pagerank) as held, count(*) as urls, count(*) filter (where is_page) as pages
from read_parquet({urls}) as urls join domains using (site) group by site
