"""DUST, "different URLs with similar text": rules that rename a URL to another URL of the same page.

A rule is one of nine kinds (`rules`): drop a parameter or one value of it, sort the query, drop a prefix or a suffix of
the path, replace a segment, lower-case the path, or use another host or scheme. Rules are learnt site by site from
pairs of pages that were both read and whose URLs differ by exactly one rule (Bar-Yossef, Keidar & Schonfeld
2007; Koppula et al. 2010). Equal and unequal pairs are counted; a rule is accepted when a Beta posterior says that it
holds (`evidence`), is probed permanently with a small share of the URLs that it would rename, and is withdrawn when
probes contradict it (`learning`). `renaming` applies the rules of a site to a URL, and `renames` is the
filter that does so.

Other sources of rules: `Clean-param` of robots.txt and a file that people edit (`given`), the rules of
duplicate-url-discarder (`discarder`), and names that held on many domains, which then need fewer pairs.

`part` learns in a crawl, `found_rules` lists for people what was learnt. Everything is pure. What is learnt of a site
is one bounded value, `SiteDust`, stored with what filters learn of it.
"""
