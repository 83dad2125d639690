"""The wire: tasks in, outcomes out, over libcurl.

A task says what to fetch, from which address, and what is known of the last version; `CurlWire` does that and nothing
else. It decides neither whom to visit nor when, follows no redirect, keeps no cookie and reads no page. What it does
decide is how much a server may take of us: time, bytes, headers, connections (`limits`), which addresses are nobody's
business (`addresses`), and which types are not worth downloading (`head`). What went wrong has a reason from a short
list (`reasons`, `dns`).

The path of a task: without an address it is looked up (`dns`) and comes back as `Located`, so that politeness can be
reckoned by address before anybody is visited. With one, a `transfer` is begun on a handle from a pool, with a request
that we could write down again byte by byte (`request`, `identity`); the `poller` waits for all sockets at once; and the
transfer makes of the head and body that came a `FetchOutcome`. Every task that was started ends in exactly one.
"""

from .addresses import AddressGuard, special_block
from .dns import Address, NoAddress, Resolver, ResolverSettings
from .identity import Identity
from .limits import WireSettings
from .wire import CurlWire

__all__ = [
    "Address",
    "AddressGuard",
    "CurlWire",
    "Identity",
    "NoAddress",
    "Resolver",
    "ResolverSettings",
    "WireSettings",
    "special_block",
]
