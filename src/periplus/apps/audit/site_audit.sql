-- name: hints
select count(priority) as priorities, count(distinct priority) as different_priorities,
    any_value(priority) as priority, count(changefreq) as changefreqs,
    count(distinct changefreq) as different_changefreqs, any_value(changefreq) as changefreq
from audited_entries

-- name: requests
select count(*) as requests, coalesce(sum(bytes), 0)::bigint as bytes,
    count(*) filter (where purpose = 'page') as visits
from fetches where outcome <> 'excluded' and list_contains($sites, site) and epoch(ended_at) >= $since

-- name: again
-- Visits that found a page unchanged, without pairs of visits by which a crawl learns what differs every time.
create or replace temp table audited_again as
with visits as (
    select url, outcome, bytes, warc_file, warc_offset, epoch(ended_at) as ended_at,
        epoch(started_at) - lag(epoch(ended_at)) over (partition by url order by started_at) as pause
    from fetches where purpose = 'page' and outcome <> 'excluded' and list_contains($sites, site))
select visits.url, visits.outcome = 'fetched' as is_full, bytes, warc_file, warc_offset, visits.ended_at
from changes join visits on visits.url = changes.url and abs(visits.ended_at - epoch(changes.seen_at)) < 1
where level = 'same' and pause >= $pause and list_contains($sites, changes.site) and visits.ended_at >= $since

-- name: needless
-- Every visit has one reason at most for which it was needless, so there are no more of these than visits.
with visits as (
    select url, outcome = 'redirected' as has_moved, outcome = 'failed' or coalesce(status >= 400, false) as is_failure,
        coalesce(is_soft_error, false) as is_soft_error,
        coalesce(is_copy, false) as is_copy,
        (url, epoch(ended_at)) in (select (url, ended_at) from audited_again where is_full) as is_full
    from (select * from fetches where purpose = 'page' and outcome <> 'excluded' and list_contains($sites, site)
        and epoch(ended_at) >= $since) as fetches
    left join (select url, is_copy, is_soft_error from audited) using (url)),
wasted as (
    select url, case when has_moved then 'redirects' when is_failure then 'errors' when is_soft_error then 'soft_errors'
        when is_copy then 'duplicates' when is_full then 'unchanged' end as kind
    from visits)
select kind, case when kind in ('duplicates', 'soft_errors') then count(distinct url) else count(*) end as visits
from wasted where kind is not null group by kind

-- name: full
select url, bytes || ' bytes' as note, '' as via, '' as kind, bytes as weight from audited_again where is_full

-- name: stored
select distinct warc_file, warc_offset from audited_again where is_full and warc_file is not null
order by warc_file, warc_offset limit $most

-- name: unasked_rows
delete from audited_again where is_full and (warc_file is null
    or (warc_file, warc_offset) not in (select (warc_file, warc_offset) from audited_asked_well))

-- name: judged
create or replace temp table audited_judged as
select url, pagerank, not coalesce(noindex, false) and leads_to is null as is_index
from audited
where is_page and not is_soft_error and coalesce(mime, 'text/html') in ('text/html', 'application/xhtml+xml')

-- name: faults
-- The pages with a fault that a page check found.
select url, note, '' as via, kind, pagerank as weight from audited_faults join audited_judged using (url)
where name = $name and (is_index or $of_all)

-- name: faults_by_kind
select kind, any_value("group") as "group", count(*) as pages from audited_faults join audited_judged using (url)
where name = $name and (is_index or $of_all) group by kind

-- name: seen
-- Pages that are gone are left out: they are asked for again only while something refers to them.
select epoch(min(answered_at) filter (where coalesce(status, 0) not in (404, 410))) as first,
    epoch(max(answered_at)) as last from audited

-- name: why
select url, '' as note, '' as via, coalesce(reason, status::varchar, outcome) as kind, 0.0 as weight
from fetches where purpose in ('page', 'robots') and list_contains($sites, site)
    and (outcome in ('failed', 'excluded') or (purpose = 'page' and coalesce(status, 0) <> 200))
