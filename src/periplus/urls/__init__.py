"""URLs: parsing, canonical form, and the parts that other rooms need.

A string from a page, a sitemap or a person enters here and leaves as a `Url`, or as `None`. `whatwg` is the URL
standard and nothing else: how a browser would parse the string. `canonical` then makes it the one spelling by which
every other package knows a resource; it folds only what no server can distinguish, so one page may keep two URLs but
two pages never share one. Only this package makes a `Url`. `resolve_all` does the same for all links of a page at once,
several times as fast, because most links need no parser.

What other packages need of a canonical URL is cut from the string, without parsing again: `site_of` is the unit of
politeness and of distribution, `host_of` the name that is looked up, `domain_of` the registrable domain (by the
Public Suffix List; `PublicSuffixes` reads another edition of it), `fingerprint` the 64 bits of seen tests and keys,
`surt` the key of an archive's index. `UriTree` holds many URLs by their prefixes and shows the shape of a site.

Nothing here fetches, waits or fails: what is not a URL for us is `None`. Whether a URL is wanted is decided in
`policy`.
"""

from .canonical import MAX_LENGTH, canonical, resolve_all
from .keys import fingerprint, fingerprints, surt
from .site import PublicSuffixes, domain_of, host_of, is_below, is_home, site_of
from .standard import whatwg
from .tree import UriTree, components

__all__ = [
    "MAX_LENGTH",
    "PublicSuffixes",
    "UriTree",
    "canonical",
    "components",
    "domain_of",
    "fingerprint",
    "fingerprints",
    "host_of",
    "is_below",
    "is_home",
    "resolve_all",
    "site_of",
    "surt",
    "whatwg",
]
