-- name: files
create or replace temp table audited_files as
select url as sitemap from sitemap_files where kind in ('urlset', 'text')
    and coalesce(retired, '') not in ('gone', 'not-a-sitemap', 'unlisted', 'moved')

-- name: written
create or replace temp table audited_written as
select entries.* from listed_entries as entries join audited_files using (sitemap) where list_contains($sites, site)

-- name: locations
create or replace temp table audited_locations as select distinct url from audited_written where url is not null

-- name: batch
select url from audited_locations where rowid >= $start and rowid < $end

-- name: names
create or replace temp table audited_names (written varchar, url varchar)

-- name: listed
create or replace temp table audited_listed as
select url from audited_names union
select url from discoveries where source = 'sitemap' and list_contains($sites, site) and (referrer is null
    or referrer not in (select sitemap from sitemap_entries where kind = 'summary' and sitemap is not null))

-- name: entries
create or replace temp table audited_entries as
with named as (
    select names.url, entries.* exclude (url), coalesce(epoch_us(lastmod), -(1::bigint << 62)) as said
    from audited_written as entries join audited_names as names on names.written = entries.url
    semi join (select url from audited where is_listed) as listed on listed.url = names.url)
select url, max(read_at) as read_at, max(lastmod) as lastmod, arg_max(lastmod_granularity, said) as lastmod_granularity,
    arg_max(changefreq, said) as changefreq, arg_max(priority, said) as priority
from named group by url

-- name: last
create or replace temp table audited_last as
select url, max(ended_at) filter (where outcome <> 'failed') as answered_at,
    arg_max(status, ended_at) as last_status, arg_max(reason, ended_at) as last_reason,
    coalesce(arg_max(outcome, ended_at) = 'failed', false)
        and arg_max(coalesce(reason, ''), ended_at) <> 'unwanted-type'
        or coalesce(arg_max(coalesce(status, 0), ended_at) >= 500, false) as fails_now
from fetches where purpose = 'page' and outcome <> 'excluded' and list_contains($sites, site) group by url

-- name: audited
create or replace temp table audited as
with forbidden as (
    select url, any_value(rule) as rule from fetches
    where purpose = 'page' and outcome = 'excluded' and reason = 'robots' and list_contains($sites, site) group by url),
described as (
    select url, arg_max(description, read_at) as description, arg_max(main_digest, read_at) as main_digest
    from pages where list_contains($sites, site) group by url),
known as (
    select urls.* replace (
            is_page and not coalesce(fails_now, false) as is_page,
            is_indexable and not coalesce(fails_now, false) as is_indexable,
            case when fails_now then last_status else status end as status,
            case when fails_now then last_reason else reason end as reason,
            case when fails_now then 'failed' else outcome end as outcome),
        coalesce(fails_now, false) as fails_now, answered_at,
        description, main_digest, audited_listed.url is not null as is_listed,
        case when not is_crawled then forbidden.rule end as forbidden_by,
        is_page and not coalesce(fails_now, false) and coalesce(text_length, 0) <= {longest_soft_error}
            and regexp_matches(coalesce(title, ''), $soft_error) as is_soft_error
    from urls left join audited_listed using (url) left join forbidden using (url) left join audited_last using (url)
        left join described using (url)
    where list_contains($sites, site)),
groups as (
    select cluster, arg_min(url, row(believed_canonical is not null, not is_listed, length(url), url)) as first
    from known where is_page group by cluster)
select * exclude (same_as, first_title, first_digest),
    is_page and not is_first and coalesce(
        contains(lower(trim(title)), nullif(first_title, '')) or contains(first_title, nullif(lower(trim(title)), ''))
        or main_digest = first_digest, false) as is_copy,
    case when not is_page then null when believed_canonical is not null then believed_canonical
        when not is_first then first end as same_as,
    is_crawled and (fails_now or (coalesce(status, 0) >= 400 and coalesce(reason, '') <> 'unwanted-type')) as is_error,
    is_crawled and not fails_now and (outcome = 'redirected' or (leads_to is not null and leads_to <> url))
        as is_redirect,
    is_page and not is_soft_error and is_indexable and leads_to is null as is_good
from (
    select known.*, first, first_title, first_digest, is_page and first = url as is_first
    from known left join groups using (cluster)
        left join (select url as first, lower(trim(title)) as first_title, main_digest as first_digest from known)
        using (first))

-- name: targets
create or replace temp table audited_targets as
select target as url, target_site as site, min(page) as page, count(distinct page) as pages
from current_links semi join (select url as page from audited where is_page) using (page)
where page <> target group by target, target_site

-- name: referred
with last as (
    select url, arg_max(status, ended_at) as status,
        arg_max_null(target, ended_at) filter (where outcome <> 'failed') as target
    from fetches where purpose = 'page' and outcome <> 'excluded' group by url),
present as (select * from last where coalesce(status, 0) not in (404, 410)),
read as (
    select pages.url, canonical, refresh, script_redirect from pages semi join present using (url)
    qualify row_number() over (partition by pages.url order by read_at desc) = 1),
named as (
    select target as url from current_links semi join present on present.url = page where page <> target
    union all select target from present
    union all select canonical from read where canonical <> url
    union all select refresh from read
    union all select script_redirect from read
    union all select url from audited_listed)
select url from audited_asked semi join named using (url) order by url
