-- name: grid
create or replace temp table audited_grid as
with answers as (
    select url, arg_max(bytes, ended_at) filter (where outcome = 'fetched') as weight from fetches
    where purpose = 'page' and outcome <> 'excluded' and list_contains($sites, site) group by url),
readings as (
    select url, arg_max(words, read_at) as words from pages where list_contains($sites, site) group by url)
select url, case when status = 304 then 200 else status end as status, case
        when is_error then 'error'
        when is_redirect then 'redirect'
        when not is_page then 'file'
        when is_soft_error then 'soft-error'
        when noindex then 'noindex'
        when believed_canonical is not null then 'canonical'
        when not is_first then 'duplicate'
        when is_indexable then 'indexable'
        else 'unsearchable' end as state,
    title, h1, description, words, clicks as depth, inlinks, outlinks, weight, seconds, canonical, language,
    is_listed as listed, epoch(lastmod) as lastmod, epoch(first_seen_at) as first_seen, epoch(visited_at) as fetched,
    pagerank
from audited left join answers using (url) left join readings using (url)
    left join (select url, lastmod from audited_entries) using (url)
    left join (select url, nullif(any_value(h1), '') as h1 from audited_read group by url) using (url)
where is_crawled order by pagerank desc, url

-- name: headings
select url, any_value(h1) as h1 from audited_read where h1 <> '' group by url order by url
