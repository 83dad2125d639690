-- name: linked
create or replace temp table audited_links as
select url, page, pages from audited_targets where list_contains($sites, site)

-- name: reached
-- Targets of links, also of links on other sites, and where redirects lead from there.
create or replace temp table audited_reached as
select distinct target as url from current_links where list_contains($sites, target_site) and page <> target
    and (not list_contains($sites, site) or page in (select url from audited where is_page))
union select ends_at from redirect_chains join audited_links using (url)
union select leads_to from audited join audited_links using (url) where leads_to is not null

-- name: followed
select count(*) from audited join audited_links using (url) where is_crawled

-- name: unfetched
select count(*) from audited join audited_links using (url)
where not is_crawled and refused is null and forbidden_by is null

-- name: dead
-- URLs that return an error, by themselves or where they redirect to.
create or replace temp table audited_dead as
select url, coalesce(status::varchar, reason) as answer, '' as way from audited where is_error
union all
select chains.url, case when is_loop then 'redirect loop'
        else coalesce(coalesce(last.status, end_status)::varchar, last.reason, 'no answer') end,
    ' after ' || array_to_string(path, ' → ')
from redirect_chains as chains semi join (select url from audited where is_redirect and not is_error) using (url)
    left join audited as last on last.url = ends_at
where is_broken or last.is_error

-- name: broken
select url, answer || way || ', linked from ' || case when pages = 1 then 'one page' else pages || ' pages' end as note,
    page as via, answer as kind, pages as weight
from audited_dead join audited_links using (url)

-- name: redirected
select url, 'leads to ' || leads_to as note, page as via, '' as kind, pages as weight
from audited join audited_links using (url) anti join audited_dead using (url) where is_redirect

-- name: chains
select url, case when is_loop then 'loop: ' else hops || ' hops: ' end || array_to_string(path, ' → ') as note,
    coalesce(page, '') as via, case when is_loop then 'loop' else hops || ' hops' end as kind, hops as weight
from redirect_chains left join audited_links using (url)
where list_contains($sites, site) and (hops > 1 or is_loop) and is_start

-- name: orphans
-- Condition for a page without links to it, or to another URL of the same page.
is_listed and is_good and is_first and first_source <> 'seed' and cluster not in (
    select audited.cluster from audited join audited_reached using (url))

-- name: repeated
select url, {field} as note, other as via, '' as kind, same as weight from (
    select url, {field}, count(*) over alike as same,
        case when row_number() over ordered = 1 then lead(url) over ordered else first_value(url) over ordered end
            as other
    from audited where {condition} and trim(coalesce({field}, '')) <> ''
    window alike as (partition by lower(trim({field}))),
        ordered as (partition by lower(trim({field})) order by length(url), url))
where same > 1

-- name: canonicals
select page.url, 'canonical ' || page.canonical || {note} as note, '' as via, {kind} as kind, page.pagerank as weight
from audited as page join audited as target on target.url = page.canonical
where page.is_page and not page.is_soft_error and page.canonical <> page.url and {condition}
