"""Access logs read for the owner of a site: which crawlers come, who they are, and what they ask for in vain.

    from periplus_sites.logs import read_logs

    report = read_logs(["access.log", "access.log.1.gz"], ledger="public/.periplus-publish")

In reading order: `agents` names the crawler of a User-Agent, from `crawlers.toml` and a public list; `visits` reads
files in the order of their times and counts in bounded memory; `identity` looks up names to check whether an address
belongs to the crawler it claims to be; `findings` says what was fetched again without need and what to act on; and
`analysis` puts the report of `results` together.
"""

from typing import TYPE_CHECKING

from periplus.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from periplus_sites.agents import AgentTable, Crawler, known_agents
    from periplus_sites.identity import AddressLookup, Answer, IdentityVerdict, SystemResolver

    from .analysis import read_logs
    from .findings import KINDS, min_needless
    from .results import CrawlerReport, Identity, LogReport, Needless
else:
    __getattr__ = lazy_exports(__name__)

__all__ = [
    "KINDS",
    "AddressLookup",
    "AgentTable",
    "Answer",
    "Crawler",
    "CrawlerReport",
    "Identity",
    "IdentityVerdict",
    "LogReport",
    "Needless",
    "SystemResolver",
    "known_agents",
    "min_needless",
    "read_logs",
]
