-- name: files
create or replace temp table audited_embeds as
select url, kind, min(page) as page, count(distinct page) as pages from audited_embedded
semi join (select url as page from audited where is_page) using (page) group by url, kind

-- name: dead
select url, answer || ', used by ' || case when pages = 1 then 'one page' else pages || ' pages' end as note,
    page as via, answer as kind, pages as weight
from {files} as files join audited_checks using (url) where is_dead

-- name: checked
select count(*) from {files} join audited_checks using (url)

-- name: documents
-- Linked files of the site that a crawl does not fetch, by their extension.
create or replace temp table audited_documents as select * from audited_targets where list_contains($sites, site)
    and url in (select url from discoveries where refused = 'extension')

-- name: outside
create or replace temp table audited_outside as select * from audited_targets where not list_contains($sites, site)

-- name: alternates
create or replace temp table audited_pairs as
select distinct alternates.page, alternates.url, alternates.hreflang from audited_alternates as alternates
    join audited as target on target.url = alternates.url and target.is_page
    join audited as source on source.url = alternates.page and source.is_page
where alternates.page <> alternates.url and alternates.url in (select url from audited_read)

-- name: one_way
select page as url, 'hreflang ' || any_value(hreflang) || ': ' || url || ' does not link back' as note, '' as via,
    '' as kind, 0.0 as weight
from audited_pairs as pairs where not exists (
    select 1 from audited_alternates as back left join audited as source on source.url = pairs.page
    where back.page = pairs.url and back.url in (pairs.page, source.canonical))
group by page, url
