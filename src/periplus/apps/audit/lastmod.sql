-- name: shape
with entries as (
    select url, epoch(lastmod) as said, lastmod_granularity as grain, epoch(read_at) as read_at
    from audited_entries),
common as (
    select floor(said / 60) as minute, count(*) as pages from entries
    where said is not null and grain not in ('year', 'month') group by minute order by pages desc, minute limit 1)
select count(*) as entries, count(said) as dated, count(*) filter (where said > read_at + 86400) as future,
    (select minute * 60 from common) as minute,
    count(*) filter (where abs(said - (select minute * 60 + 30 from common)) <= 90) as uniform,
    median(abs(read_at - said)) as age
from entries

-- name: readings
with readings as (
    select sitemap, epoch(read_at) as read_at, max(epoch(lastmod)) as newest from sitemap_entries
    where kind = 'page' and list_contains($sites, site) group by sitemap, read_at
    union all select sitemap, read_at, newest from audited_looks),
pairs as (
    select newest, read_at, lag(newest) over (partition by sitemap order by read_at) as newest_before,
        lag(read_at) over (partition by sitemap order by read_at) as read_before from readings)
select count(*) filter (where newest_before is not null) as pairs,
    count(*) filter (where newest = newest_before) as stood_still,
    count(*) filter (where newest > newest_before and abs(newest - read_at) <= $now
        and abs(newest_before - read_before) <= $now) as followed
from pairs

-- name: future
select url, strftime(to_timestamp(epoch(lastmod)), '%Y-%m-%d') as note, '' as via, '' as kind, epoch(lastmod) as weight
from audited_entries where epoch(lastmod) > epoch(read_at) + 86400

-- name: visits
create or replace temp table audited_visits as
with visits as (
    select url, epoch(seen_at) as seen_at, level in ('minor', 'major') as has_changed, is_change,
        coalesce(lag(epoch(seen_at)) over (partition by url order by seen_at), (
            select min(epoch(ended_at)) from fetches where fetches.url = changes.url and outcome = 'fetched')) as before
    from changes where list_contains($sites, site)),
told as (
    select url, epoch(read_at) as read_at,
        max(epoch(lastmod)) over (partition by url order by read_at range unbounded preceding) as lastmod
    from sitemap_entries where kind = 'page' and list_contains($sites, site) and lastmod is not null),
pairs as (
    select visits.*, later.lastmod as lastmod
    from visits asof join told as later on visits.url = later.url and visits.seen_at >= later.read_at)
select pairs.url, pairs.has_changed, pairs.is_change, pairs.lastmod > earlier.lastmod as has_moved
from pairs asof join told as earlier on pairs.url = earlier.url and pairs.before >= earlier.read_at

-- name: judged
select count(*) filter (where has_moved) as told, count(*) filter (where has_moved and has_changed) as right,
    count(*) filter (where is_change) as changed, count(*) filter (where is_change and has_moved) as matched
from audited_visits

-- name: wrong
select url, 'lastmod was updated, but the page had not changed' as note, '' as via, '' as kind, 0.0 as weight
from audited_visits where has_moved and not has_changed

-- name: missed
select url, 'changed without an update of lastmod' as note, '' as via, '' as kind, 0.0 as weight
from audited_visits where is_change and not has_moved
