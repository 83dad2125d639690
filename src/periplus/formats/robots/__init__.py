"""robots.txt: RFC 9309 (Robots Exclusion Protocol), its common extensions, and its real-life dirt.

    robots = parse(body)
    robots.allows("Foobot", "https://example.com/a")
    write(Robots([Group(("*",), (Rule(False, "/private/"),), crawl_delay=2.0)], ["https://example.com/sitemap.xml"]))

The lines are read in `reader` (with `fields` for the parts of that), the result is a `Robots` in `document`, where
`Access` is what it means for one crawler; `patterns` decides about a path. Where the standard leaves a choice, Google's
open matcher is followed, since sites are written for it. Whether to fetch the file again, and what a missing or
unreachable one means, is not decided here.

What is wrong with a file is in `Robots.problems`, with one of these reasons:

* `too-large`: only the beginning was read; `long-line`: a line was cut; `more-problems`: no more of them are listed
* `html-instead`: a web page stands in place of the file, which then has no rules
* `utf-16`, `nul-bytes`: not UTF-8, and read nevertheless
* `outside-group`: a line for some crawlers before any `User-agent`; `empty-agent`: it names no crawler
* `no-colon`: read as if it had one; `not-a-field`: neither field nor comment
* `misplaced-signal`: a line about use, apart from the rules of a group for other crawlers, that binds only these
* `relative-license`: a licence that is not named by an absolute URL, and read nevertheless
* `pattern-without-slash`: a rule that matches no path; `bad-value`: a known field with a value that cannot be read
"""

from .document import Access, Robots, is_valid_agent, product_token, write
from .fields import looks_like_html
from .patterns import path_of
from .reader import MAX_BYTES, parse
from .values import CleanParam, Group, LicenseLine, RequestRate, Rule, Ruling, UsageRule, VisitTime

__all__ = [
    "MAX_BYTES",
    "Access",
    "CleanParam",
    "Group",
    "LicenseLine",
    "RequestRate",
    "Robots",
    "Rule",
    "Ruling",
    "UsageRule",
    "VisitTime",
    "is_valid_agent",
    "looks_like_html",
    "parse",
    "path_of",
    "product_token",
    "write",
]
