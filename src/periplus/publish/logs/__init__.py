"""Access logs read for the owner of a site: which crawlers come, who they are, and what they ask for in vain.

    from periplus.publish.logs import read_logs

    report = read_logs(["access.log", "access.log.1.gz"], ledger="public/.periplus-publish")

In reading order: `opening` reads files in the order of their times; `agents` names the crawler of a User-Agent, from
`crawlers.toml` and a public list; `visits` counts in bounded memory, with `needless` for what was asked for again;
`identity` says whether an address is whose it claims to be, with `dns_lookups` for names; `analysis` puts the report of
`results` together, and `findings` says what to act on.
"""

from typing import TYPE_CHECKING

from periplus.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from .agents import AgentTable, Crawler, known_agents
    from .analysis import read_logs
    from .findings import KINDS, min_needless
    from .identity import Answer, Resolver, SystemResolver, Verdict
    from .results import CrawlerReport, Identity, LogFinding, LogReport, Needless
else:
    __getattr__ = lazy_exports(__name__)

__all__ = [
    "KINDS",
    "AgentTable",
    "Answer",
    "Crawler",
    "CrawlerReport",
    "Identity",
    "LogFinding",
    "LogReport",
    "Needless",
    "Resolver",
    "SystemResolver",
    "Verdict",
    "known_agents",
    "min_needless",
    "read_logs",
]
