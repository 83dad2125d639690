-- name: sites
select site, count(distinct url) as pages from pages group by site

-- name: pages
with seen as (
    select url, arg_max(coalesce(title, ''), read_at) as title, arg_max(coalesce(noindex, false), read_at) as noindex,
           arg_max(coalesce(canonical, url), read_at) as canonical
    from pages where list_contains($sites, site) group by url
), told as (
    select url, max(priority) as priority, max(epoch(lastmod)) as lastmod
    from discoveries where source = 'sitemap' and refused is null and list_contains($sites, site) group by url
)
select seen.url, priority, lastmod, title from seen left join told using (url)
where not noindex and canonical = seen.url order by seen.url

-- name: anchors
select target, anchor, count(distinct page) as pages from links
where target in (select unnest($urls)) and page <> target and anchor <> '' and length(anchor) <= 200 group by all

-- name: titles
select url, arg_max(title, read_at) as title from pages where url in (select unnest($urls)) and title <> '' group by url
