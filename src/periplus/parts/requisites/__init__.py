"""Requisites: the files that a browser needs to show a page, fetched so that an archive replays whole pages.

`finding` finds them in a page, in a style sheet (`style_sheets`) and in a manifest of an application. Every file is
fetched once, whatever its host is, in a lane of its own (`Lane.EMBEDDED`): as politely as a page, after robots.txt
allows it, to public addresses only. It is archived and has a row among the fetches, but is not a page: it has no
links, no text, and does not count for a limit. A crawl that has its pages ends when it has their files. In a crawl for
files (`--media`), the files of wanted types that are found so are fetched like those that pages link to.

All that is known of a file is in the record of its URL: how many style sheets lead to it (its depth), and how many
redirects.
"""
