"""The commands by kinds of work, and what `periplus --help` prints. It imports little, to appear at once."""

from __future__ import annotations

from .installed import other_commands

PANELS = {
    "Crawl": {
        "crawl": "Crawl sites into a collection, or continue a crawl.",
        "map": "List every URL a site publishes, without fetching pages.",
        "survey": "Fetch robots.txt and sitemaps of many domains, with statistics.",
        "import": "Make a collection of WARC, ARC and WACZ files, or of seeds.",
        "settings": "List every setting: its default, its value and what it is.",
        "trust": "Accept the private addresses and programs that a collection names.",
        "identity": "Make, replace and publish the key that signs your requests.",
        "cluster": "Change the number of shards of a collection, or restart them.",
        "repair": "Check a collection and rebuild damaged parts.",
    },
    "Keep fresh": {
        "watch": "Keep a collection fresh within a budget of visits.",
        "refresh": "Ask every page of a collection again, once; show what changed.",
        "changes": "Show what appeared, changed and vanished.",
    },
    "Use": {
        "info": "Show what is known of a collection, a site or a URL.",
        "report": "Write a report on a collection: one HTML file.",
        "query": "Query a collection in SQL.",
        "export": "Export a collection: jsonl, parquet, warc, wacz, text, markdown.",
        "index": "Index a collection for searching, or update the index.",
        "search": "Search an indexed collection.",
        "serve": "Serve collections in a browser: search, pages about them, an API.",
        "mcp": "Offer collections to an agent over MCP: search, read, map, crawl.",
        "openapi": "Print the API of serve as an OpenAPI document.",
        "forms": "List the forms of a collection, and what submitting them brought.",
        "judge": "Find mirrors and parked domains of a collection.",
        "spam": "Judge a collection for spam, and explain the verdicts.",
    },
    "Your own site": {
        "audit": "Check a site's metadata for its owner: findings and what to do.",
        "publish": "Write honest sitemaps, archives and feeds for your own site.",
        "logs": "Show which crawlers visit your site, from its access logs.",
        "ulinks": "List the most useful links of a site.",
        "read": "Show what is read from a sitemap, robots.txt, feed, page or log.",
    },
    "Research and development": {
        "demo": "Crawl the test web and write a report: a minute, no network.",
        "lab": "Serve a small test web on this machine.",
        "simulate": "Compare policies in virtual time; reproduce published experiments.",
        "frontier": "Serve a durable frontier to other crawlers over gRPC (URLFrontier).",
        "help": "Explain a command or a subject, such as patterns or exit codes.",
    },
}
"""Each command that is there with its line, by kinds of work.

It is a function or a group of that name in `cli/NAME.py` or `cli/NAME/command.py` (`import_` for the keyword), imported
when it is used, and not to print this line; or in a distribution of its own (`installed`).
"""
VERBS = {name: line for verbs in PANELS.values() for name, line in verbs.items()}
_HEAD = """\
Usage: periplus [OPTIONS] COMMAND [ARGS]...

  A search engine's crawler that one person can run.
"""
_END = """\
Options:
  --version             Print the version and which page scanner is used.
  --debug               Show a traceback when the program fails.
  --install-completion  Complete commands and options in your shell.
  --show-completion     Print what completes them, to install it yourself.
  -h, --help            Show this message and exit.

periplus COMMAND --help shows the options of a command, with an example.
"""


def overview() -> str:
    """Return the list of commands by kinds of work."""
    lines = [_HEAD]
    others = dict(other_commands(VERBS))
    for title, verbs in {**PANELS, **({"Commands of installed packages": others} if others else {})}.items():
        lines += [f"{title}:", *(f"  {name:10}{line}" for name, line in verbs.items()), ""]
    return "\n".join([*lines, _END])
