-- What each check of a whole site asks for, under the name of its finding (findings.toml).

-- name: indexed
select count(*) from audited_judged where is_index

-- name: known
select count(*) from audited

-- name: read
select count(*) from audited_read

-- name: linked
select count(*) from audited_links

-- name: exceptions
-- Pages that differ from nearly all pages of the site, each kind for itself.
with found as ({check}),
total as (select count(*) as pages from audited_judged where is_index),
counts as (select kind as of_kind, count(*) as pages from found group by kind)
select found.* from found join counts on of_kind = kind, total
where total.pages >= {min_pages} and counts.pages <= {few} * total.pages

-- name: alternates
-- Of each page the first hreflang link with the fault.
select page as url, case when line = 0 then 'Link header' else 'line ' || line end || ': hreflang ' || hreflang || ' '
        || audited_alternates.url || {note} as note,
    '' as via, '' as kind, audited_judged.pagerank as weight
from audited_alternates join audited_judged on audited_judged.url = page
    join audited as target on target.url = audited_alternates.url
where page <> audited_alternates.url and {check}
qualify row_number() over (partition by page order by line) = 1

-- name: with-alternates
select count(distinct page) from audited_alternates join audited as target on target.url = audited_alternates.url
where page <> audited_alternates.url and target.is_crawled

-- name: with-other-canonical
select count(*) from audited where is_page and canonical <> url

-- name: links
-- Pages with links within the site that have the fault.
select page as url,
    first({note}) || case when count(*) > 1 then ' (and ' || (count(*) - 1) || ' more)' else '' end as note,
    '' as via, '' as kind, count(*) as weight
from current_links join audited_judged on audited_judged.url = page
where list_contains($sites, target_site) and is_index and current_links.kind = 'a' and {check} group by page

-- name: h1-duplicate
with headed as (
    select audited.url, h1, lower(trim(h1)) as folded, audited_judged.pagerank
    from audited_read join audited_judged using (url) join audited using (url)
    where audited_judged.is_index and is_first and not coalesce(canonical <> audited.url, false)
        and trim(coalesce(h1, '')) <> ''),
alike as (
    select *, count(*) over (partition by folded) as same, count(*) over () as pages,
        case when row_number() over ordered = 1 then lead(url) over ordered
            else first_value(url) over ordered end as other
    from headed window ordered as (partition by folded order by length(url), url))
select url, h1 as note, other as via, '' as kind, pagerank as weight from alike
where same > 1 and same <= greatest(3, {few} * pages)

-- name: canonical-missing
-- Within `exceptions`.
select url, '' as note, '' as via, '' as kind, audited_judged.pagerank as weight
from audited join audited_judged using (url)
where is_index and canonical is null and first_source <> 'seed' and url in (select url from audited_read)

-- name: url-style
-- Within `exceptions`.
select url, kind || ': ' || path as note, '' as via, kind, pagerank as weight from (
    select *, case when contains(path, '//') then 'double slash'
        when regexp_matches(path, '%20|\+') then 'space'
        when regexp_matches(regexp_replace(path, '%[0-9A-F][0-9A-F]', '', 'g'), '[A-Z]')
            then 'capital letters'
        when contains(path, '_') then 'underscores' end as kind
    from (select *, regexp_extract(url, '^[a-z]+://[^/]+(/[^?]*)', 1) as path from audited_judged)
    where is_index)
where kind is not null

-- name: title-of-another
with headings as (
    select lower(trim(h1)) as h1, min(url) as url from audited_read join audited_judged using (url)
    where is_index and trim(coalesce(h1, '')) <> '' group by all having count(*) = 1),
titled as (
    select audited.url, title, lower(trim(title)) as folded, lower(trim(coalesce(h1, ''))) as own,
        audited_judged.pagerank
    from audited join audited_judged using (url) join audited_read using (url)
    where is_index and trim(coalesce(title, '')) <> '' and not coalesce(canonical <> audited.url, false))
select titled.url, titled.title || ', the h1 of ' || headings.url as note, '' as via, '' as kind,
    titled.pagerank as weight
from titled join headings on headings.h1 = titled.folded
    join titled as other on other.url = headings.url
where titled.url <> headings.url and titled.own <> '' and titled.own <> titled.folded
    and other.folded <> titled.folded and (contains(titled.folded, ' ') or ord(titled.folded) > 11903)

-- name: canonical-noindex
select page.url, 'canonical ' || page.canonical || ' is noindex' as note, '' as via, '' as kind,
    page.pagerank as weight
from audited as page join audited as target on target.url = page.canonical
where page.is_page and not page.is_soft_error and page.canonical <> page.url and target.is_page
    and target.noindex

-- name: hreflang-errors
-- Within `alternates`.
target.is_error

-- name: hreflang-redirects
-- Within `alternates`.
target.is_redirect and not target.is_error

-- name: hreflang-noindex
-- Within `alternates`.
target.is_page and target.noindex

-- name: with-fragments
select count(distinct page) from audited_fragments

-- name: broken-fragments
with places as (select url, unnest(ids) as hash from audited_ids),
dead as (
    select links.page, links.url, links.fragment, links.line from audited_fragments as links
        semi join audited_ids using (url)
        semi join audited_judged as judged on judged.url = links.page
        anti join places on places.url = links.url and places.hash = links.hash
        anti join places as decoded on decoded.url = links.url and decoded.hash = links.other)
select page as url, 'line ' || min(line) || ': #' || arg_min(fragment, row(line, fragment))
    || case when arg_min(url, row(line, fragment)) = page then ''
        else ' in ' || arg_min(url, row(line, fragment)) end
    || case when count(*) > 1 then ' (and ' || (count(*) - 1) || ' more)' else '' end as note,
    '' as via, '' as kind, count(*) as weight
from dead group by page

-- name: links-to-forbidden
select url, 'Disallow: ' || forbidden_by || ', linked from ' || case when pages = 1 then 'one page' else
    pages || ' pages' end as note, page as via, '' as kind, pages as weight
from audited join audited_links using (url) where forbidden_by is not null

-- name: nofollow-internal
-- Within `links`.
list_contains(string_split(rel, ' '), 'nofollow') and page <> target

-- name: tracking-parameters
-- Within `links`.
contains(target, '?') and regexp_matches(target,
    '[?&](utm_[a-z]+|gclid|fbclid|msclkid|dclid|yclid|mc_eid|igshid)=', 'i')

-- name: vague-links
-- Within `links`: texts that say nothing of their targets, in twelve languages; not those that name pages.
length(anchor) < 40 and lower(rtrim(ltrim(anchor, ' «‹<←'), ' .…:!»›>→')) in (
    'click here', 'click this', 'click', 'here', 'right here', 'this', 'this link', 'link', 'more', 'more info',
    'more information', 'read more', 'learn more', 'see more', 'find out more', 'continue reading', 'hier',
    'hier klicken', 'klick hier', 'klicke hier', 'klicken sie hier', 'mehr', 'mehr lesen', 'mehr erfahren',
    'mehr infos', 'mehr informationen', 'weiterlesen', 'siehe', 'dies', 'das', 'ici', 'cliquez ici', 'cliquer ici',
    'plus', 'plus d''infos', 'en savoir plus', 'lire la suite', 'lire plus', 'voir plus', 'ce lien', 'aquí', 'aqui',
    'haga clic aquí', 'haz clic aquí', 'click aquí', 'click aqui', 'clicka aquí', 'clicka aqui', 'pincha aquí',
    'pincha aqui', 'más', 'mas', 'más información', 'más informacion', 'mas información', 'mas informacion',
    'leer más', 'ver más', 'este', 'enlace', 'este enlace', 'clique aqui', 'mais', 'mais informação',
    'mais informações', 'saiba mais', 'leia mais', 'veja mais', 'clicca qui', 'qui', 'scopri di più',
    'leggi di più', 'leggi tutto', 'continua a leggere', 'altro', 'klik hier', 'lees meer', 'lees verder', 'meer',
    'meer info', 'meer informatie', 'här', 'klicka här', 'läs mer', 'mer', 'mer info', 'mer information', 'ここをクリック',
    'こちらをクリック', 'こちら', 'リンク', '続きを読む', '続く', '全文表示', 'もっと見る', '여기', '여기를 클릭', '클릭', '링크', '자세히', '자세히 보기', '더 보기',
    '계속', '이동', '전체 보기', 'اطلاعات بیشتر', 'این', 'اینجا', 'اینجا بزنید', 'اینجا کلیک کنید', 'بیشتر',
    'بیشتر بخوانید', 'بیشتر بدانید', 'மேலும் அறிக', 'மேலும் தகவலுக்கு', 'மேலும் தரவுகளுக்கு',
    'தயவுசெய்து இங்கே அழுத்தவும்', 'இங்கே கிளிக் செய்யவும்')

-- name: good
select count(*) from audited where is_good and is_first

-- name: one-inlink
with found as (
    select url, page, pagerank from audited join audited_links using (url)
    where is_good and is_first and pages = 1 and first_source <> 'seed'
        and not regexp_matches(url, '{page_number}', 'i')),
total as (select count(*) as pages from audited where is_good and is_first)
select url, 'linked from one page' as note, page as via, '' as kind, pagerank as weight from found, total
where total.pages >= {min_pages} and (select count(*) from found) <= {few} * total.pages

-- name: long-urls
select url, length(url) || ' characters' as note, '' as via, '' as kind, length(url) as weight
from audited_judged where is_index and length(url) > {long_url}

-- name: charged-without-consent
select url, concat_ws(' ', price_currency, price_amount) as note, '' as via, '' as kind, 1.0 as weight
from (select distinct url, price_currency, price_amount from fetches
    where price_scheme is not null and status < 400) join audited using (url)

-- name: measured-images
select count(*) from audited_embeds join audited_checks using (url) where kind = 'image' and bytes > 0

-- name: heavy-images
select url, printf('%.1f MB', bytes / 1e6) as note, page as via, '' as kind, bytes as weight
from audited_embeds join audited_checks using (url) where kind = 'image' and bytes > {heavy_image}

-- name: heavy-pages
with sizes as (
    select page, sum(bytes) as files from audited_embedded join audited_checks using (url)
    where bytes is not null and kind <> 'card' group by page)
select url, printf('%.1f MB of HTML', audited_read.bytes / 1e6)
    || case when files > 0 then printf(', %.1f MB with its files', (audited_read.bytes + files) / 1e6)
    else '' end as note, '' as via, '' as kind, audited_read.bytes + coalesce(files, 0) as weight
from audited_read join audited_judged using (url) left join sizes on page = url
where audited_read.bytes > {heavy_html} or audited_read.bytes + coalesce(files, 0) > {heavy_page}

-- name: many-requests
select url, requests || ' images, styles and scripts' as note, '' as via, '' as kind, requests as weight
from audited_read join audited_judged using (url) where requests > {many_requests}
