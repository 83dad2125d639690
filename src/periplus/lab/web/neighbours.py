"""Links between sites: the bow-tie (Broder et al., "Graph structure in the web", 2000).

Core sites link to core and outer sites, in proportion to a power law of their rank; inner sites link to the core and
no site links to them; outer sites link to no site; islands neither. Every core and outer site is named on the home page
of some core site, and every core site names the first, so that the core is strongly connected and the rest hangs on it.
"""

from __future__ import annotations

from collections.abc import Sequence

from .live import LiveSite
from .randomness import at, skewed
from .signposts import Anchor
from .sites import Host, Role

_NAMED = 4


class Neighbours:
    """The sites that can be linked to, seen from any site."""

    def __init__(self, lives: Sequence[LiveSite], others: Sequence[Host]) -> None:
        self._targets = [live for live in lives if live.site.role in (Role.CORE, Role.OUT)]
        core = [live for live in self._targets if live.site.role is Role.CORE]
        self._named = core + [live for live in self._targets if live.site.role is Role.OUT]
        self._ranks = {live.site.number: rank for rank, live in enumerate(core)}
        self._second_names = {host.site: host.name for host in others}

    def far_link(self, bits: int, moment: int) -> bytes:
        """A link into some other site: half of them to home pages, the rest where rank decides."""
        bits = at(bits, 1)
        live = self._targets[skewed(bits >> 32, len(self._targets))]
        signs = live.signs
        anchor = signs.anchor(0, moment) if bits & 1 else signs.pointer(bits >> 3 & len(signs.pointers) - 1, moment)
        return self._absolute(live, anchor, bits >> 1)

    def ring(self, live: LiveSite) -> list[bytes]:
        """The links of a home page to other sites: the first of the core, its share of the sites, and a few by rank."""
        if live.site.role in (Role.OUT, Role.ISLAND):
            return []
        draws = [at(live.site.key, -200 - place) for place in range(_NAMED)]
        chosen = [(other, 1) for other in self._share(live)]
        chosen += [(self._targets[skewed(bits >> 32, len(self._targets))], bits) for bits in draws]
        return [self._absolute(other, other.signs.anchor(0, 0), bits) for other, bits in chosen if other is not live]

    def _share(self, live: LiveSite) -> list[LiveSite]:
        """A tree over all targets, the core first: the core site of rank r names those of ranks 4r + 1 to 4r + 4.

        The last of the core names all that are left over.
        """
        rank = self._ranks.get(live.site.number)
        if rank is None:
            return self._named[:1]
        first = _NAMED * rank + 1
        return self._named[:1] + self._named[first : first + _NAMED if rank + 1 < len(self._ranks) else None]

    def _absolute(self, live: LiveSite, anchor: Anchor, bits: int) -> bytes:
        """The link with its host: of sites with a second name, one link in four goes there."""
        host = live.site.host
        if bits & 3 == 0:
            host = self._second_names.get(live.site.number, host)
        return anchor.markup.replace(b'href="', b'href="http://' + host.encode(), 1)
