"""The crawl bench: every crawler on the same real pages, counted by the server and not by the crawler.

A crawler's own statistics say what it believes; the access log says what it fetched. So nginx serves about fifty
documentation manuals of Debian, each on a loopback address of its own, from one core; the contestant has another core
and a bound in time; and what is reported comes from outside: pages from the log, CPU seconds and memory from the
kernel, and the share of the pages that a walk over the files (not over the wire, and not with our reader) can reach.

    sites.py        which manuals, and where each begins
    install.sh      fetches and unpacks the packages; nginx and wrk, where they are missing
    web.py          the served files: manuals, seed page, robots.txt, sitemaps, gzipped beforehand
    reachable.py    which pages links lead to: the truth that every crawler is held against
    nginx.py        one server a run, with one log a run
    process.py      one contestant, pinned, bounded, measured with all its children
    log.py          what the log says was fetched
    contestants.py  who takes part, how each is installed and started
    peers/          the smallest honest crawl in each peer's own words
    report.py       the tables, as Markdown and JSON
    contest.py      one run of it all
    kills.py        whether our own crawls are complete, alone and killed three times
"""
