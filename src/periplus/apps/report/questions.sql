-- The queries of the report, under the names of its questions (questions.toml).

-- name: topic
select count(*) filter (where relevance >= 0.5) as relevant,
    count(*) filter (where relevance >= 0.5) / count(relevance) as harvest
from pages having count(relevance) > 0

-- name: requests
select count(*) as requests, sum(bytes)::bigint as bytes, count(distinct site) as sites,
    epoch(min(started_at)) as began, epoch(max(ended_at)) as ended
from fetches where outcome <> 'excluded'

-- name: status
select coalesce(status::varchar, 'no response') as status, count(*) as urls,
    coalesce(case when status is null then min(reason) end, '') as reason
from crawled group by status order by urls desc, status
limit 20

-- name: page_depth
select clicks, count(*) as urls from crawled group by clicks order by clicks nulls last
limit 50

-- name: content_types
select coalesce(nullif(lower(trim(split_part(content_type, ';', 1))), ''), 'not given') as type, count(*) as urls,
    sum(bytes)::bigint as bytes
from crawled group by type order by urls desc, type
limit 20

-- name: response_times
select case when seconds <= 0.1 then 0.1 when seconds <= 0.2 then 0.2 when seconds <= 0.5 then 0.5
    when seconds <= 1 then 1 when seconds <= 2 then 2 when seconds <= 5 then 5 when seconds <= 10 then 10
    else 1e9 end::double as up_to, count(*) as urls
from crawled where seconds is not null group by up_to order by up_to

-- name: request_rate
select floor(epoch(started_at) / {step}) * {step} as since, count(*) as requests,
    count(*) filter (where is_error) as errors
from attempts{where} group by since order by since
limit 200

-- name: coverage
select 'fetched URLs' as what, crawled_sitemaps as listed, crawled as total, coverage as share from measures union all
select 'unique pages', unique_sitemaps, "unique", unique_coverage from measures union all
select 'indexable pages', indexed_sitemaps, indexed, index_coverage from measures union all
select 'PageRank', null, null, pagerank_coverage from measures

-- name: new_urls
select since, sum(sitemaps)::bigint as sitemaps, sum(discovery)::bigint as discovery from (
    select floor(epoch(sitemaps_at) / {step}) * {step} as since, 1 as sitemaps, 0 as discovery
    from urls where by_sitemaps union all
    select floor(epoch(discovery_at) / {step}) * {step}, 0, 1 from urls where by_discovery)
group by since order by since
limit 200

-- name: coverage_by_size
select site, seen, "unique", unique_coverage from site_measures where "unique" > 0 order by seen desc, site
limit 200

-- name: unique_against_coverage
{shared}
limit 200

-- name: index_against_unique
{shared}
limit 200

-- name: pagerank_against_unique
{shared}
limit 200

-- name: refused
select coalesce(refused, 'waits') as reason, count(*) as urls, count(distinct site) as sites
from urls where not is_crawled group by all order by urls desc, reason
limit 20

-- name: sources
{shared}
order by source desc

-- name: visits
select site, count(*) filter (where lane = 'sitemaps') as sitemaps,
    count(*) filter (where lane = 'discovery') as discovery,
    count(*) filter (where lane = 'refresh') as again, count(*) as visits
from fetches where purpose = 'page' and outcome <> 'excluded'
group by site order by visits desc, site
limit 50

-- name: formats
{shared}
limit 20

-- name: fields
{shared}
limit 50

-- name: missed
{shared}, "class"

-- name: form_records
select any_value(site) as site, form, requests + records as requests, records,
    round(records + records / greatest(any_value(page_size), 1))::bigint as fewest
from form_probes
where form in (select form from forms where records > 0 order by records desc, form limit 3) and requests is not null
group by form, requests, records order by site, form, requests
limit 300

-- name: depth
{shared}
limit 50

-- name: change_rates
{shared}
limit 50

-- name: lastmod_trust
{shared}
limit 50

-- name: statuses
select site, count(*) as visited, count(*) filter (where is_ok) as pages,
    count(*) filter (where outcome = 'redirected') as redirects,
    count(*) filter (where not is_ok and outcome <> 'redirected' and status between 400 and 499) as gone,
    count(*) filter (where not is_ok and outcome <> 'redirected' and status >= 500) as broken,
    visited - pages - redirects - gone - broken as no_answer
from (select *, coalesce(outcome in ('fetched', 'not-modified') and status < 400, false) as is_ok
    from crawled)
group by site order by visited desc, site
limit 50

-- name: errors
select coalesce(reason, 'http-' || status) as reason, count(*) as urls, count(distinct site) as sites
from crawled where outcome = 'failed' or status >= 400 or reason is not null
group by all order by urls desc, reason
limit 20

-- name: outages
select site, epoch(since) as since, epoch(until) as until, reason from (
{shared})

-- name: wasted
{shared}
limit 50

-- name: scripts
{shared}
limit 50

-- name: slow_sites
select site, count(*) as visited, median(seconds) as middle, quantile_cont(seconds, .95) as slow
from crawled where seconds is not null group by site having count(*) >= 5
order by middle desc, site
limit 20

-- name: cluster_sizes
select case when n = 1 then 1 when n = 2 then 2 when n <= 5 then 5 when n <= 10 then 10
    when n <= 100 then 100 else 101 end as up_to, count(*) as clusters, sum(n)::bigint as pages
from (select count(*) as n from urls where is_page group by cluster) group by up_to order by up_to
