"""Mirrors: hosts, or parts of hosts, that show the same pages as another host.

`candidates` finds pairs of hosts whose paths resemble each other; `verification` compares their pages, path by path;
`choosing` decides which host of a pair is kept; `applying` renames the URLs of the others. The pages come from the
tables (`insight.mirrors`), the rules go to the shards as a file. After Bharat & Broder, "Mirror, mirror on the web"
(1999) and Bharat, Broder, Dean & Henzinger (2000).
"""

from typing import TYPE_CHECKING

from periplus.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from .applying import GuardWithHosts, HostRule, LearntHosts, MirrorHosts, decode_hosts, encode_hosts
    from .candidates import HostPaths, candidate_pairs, path_sketch, resemblance
    from .choosing import HostFacts, better_host, rules_of
    from .settings import MirrorSettings
    from .verification import MirrorFound, SitePage, mappings_of, verify
else:
    __getattr__ = lazy_exports(__name__)

__all__ = [
    "GuardWithHosts",
    "HostFacts",
    "HostPaths",
    "HostRule",
    "LearntHosts",
    "MirrorFound",
    "MirrorHosts",
    "MirrorSettings",
    "SitePage",
    "better_host",
    "candidate_pairs",
    "decode_hosts",
    "encode_hosts",
    "mappings_of",
    "path_sketch",
    "resemblance",
    "rules_of",
    "verify",
]
