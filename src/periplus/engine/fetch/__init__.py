"""The wire: tasks in, outcomes out, over libcurl.

A task says what to fetch, from which address, and what is known of the last version; `CurlWire` does that and nothing
else. It does not decide which site is visited or when, follows no redirect, keeps no cookie and reads no page. It does
enforce limits: time, bytes, headers and connections (`limits`), which addresses a site may be fetched from
(`addresses`), through which proxies (`proxies`), and which content types are not downloaded (`head`). A failure has a
reason from a short list (`reasons`, `dns`).

The path of a task: without an address it is looked up (`dns`, with wildcards by `addresses`) and returns as `Located`,
so that politeness can be applied by address before the first request. With an address, a `transfer` starts on a handle
from a pool, with a request that can be reproduced byte by byte (`request`, with credentials for single sites); the
`poller` waits for all sockets at once; and the transfer makes a `FetchOutcome` of the head and body. Every task that
was started ends in exactly one outcome. `single` sends requests beside a crawl, one by one.
"""

from typing import TYPE_CHECKING

from periplus.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from .addresses import AddressGuard, opened_by, special_block
    from .dns import HostAddress, NoAddress, Resolver, ResolverSettings
    from .limits import WireSettings
    from .proxies import read_proxies, split_password
    from .request import (
        NO_CREDENTIALS,
        NO_SESSION,
        CrawlerIdentity,
        Credentials,
        Login,
        RequestSigner,
        SessionPlan,
        basic_auth,
        cookie_field,
        header_fields,
        origin_of,
    )
    from .session import Session, jar_of
    from .single import SingleRequests
    from .tables import RequestTables
    from .wire import CurlWire
else:
    __getattr__ = lazy_exports(__name__)

__all__ = [
    "NO_CREDENTIALS",
    "NO_SESSION",
    "AddressGuard",
    "CrawlerIdentity",
    "Credentials",
    "CurlWire",
    "HostAddress",
    "Login",
    "NoAddress",
    "RequestSigner",
    "RequestTables",
    "Resolver",
    "ResolverSettings",
    "Session",
    "SessionPlan",
    "SingleRequests",
    "WireSettings",
    "basic_auth",
    "cookie_field",
    "header_fields",
    "jar_of",
    "opened_by",
    "origin_of",
    "read_proxies",
    "special_block",
    "split_password",
]
