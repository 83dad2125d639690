"""The filter that renames URLs by the rules that were learnt of their site, or given.

Rewrites; the rule is what was applied, in words. A small share of the URLs that a learnt rule would rename keep their
name, to check the rule. Seeds keep theirs, and so does the target of a redirect from the new name: under that there is
nothing else to be had.
"""

from __future__ import annotations

from functools import partial

from periplus.model import Discovery, Rewrite, Source, Url, Verdict
from periplus.policy.filters import FilterStates, SiteFilterState, WantedPair, path_template_of
from periplus.policy.filters.reasons import ACCEPT
from periplus.urls import site_of

from .given import GivenRules, clean_params
from .learning import SiteDust, is_paired, note_target, remember
from .renaming import Renamed, is_probe, looked_for, open_operations, renamed
from .rules import PREFIXES, UrlRenaming, operations
from .settings import DustSettings


class Renames:
    """Rewrites a URL to the name under which the rules of its site know its page."""

    def __init__(
        self, states: FilterStates, settings: DustSettings | None = None, given: GivenRules | None = None
    ) -> None:
        self._states = states
        self._settings = settings or DustSettings()
        self.given = given if given is not None else GivenRules()

    def concerns(self, state: SiteFilterState) -> bool:
        """Whether there are rules for the URLs of a site: of few sites there are."""
        dust = state.value(SiteDust)
        return bool((dust is not None and (dust.rules or dust.cleaned)) or self.given)

    def judge(self, discovery: Discovery) -> Verdict:
        """Rewrite a URL that has another name."""
        url = discovery.url
        state = self._states.about(url)
        if not self.concerns(state):
            return ACCEPT
        dust = state.value(SiteDust)
        if discovery.source is Source.SEED:
            return ACCEPT
        found = self.new_name(url, dust)
        if found is None or (discovery.source is Source.REDIRECT and discovery.referrer in (found.url, None)):
            return ACCEPT
        return Rewrite(Url(found.url), found.text, None if found.is_given else url)

    def new_name(self, url: Url, dust: SiteDust | None) -> Renamed | None:
        """The new name of a URL; `None` if it keeps its own."""
        given = self.given
        site = site_of(url)
        rules = given.applied(site)
        if dust is not None and dust.cleaned and "?" in url:
            rules += [rule for names, path in dust.cleaned for rule in clean_params(names, path, url)]
        learnt = dust if self._settings.enabled else None
        name = url if given.discarder is None else given.discarder.renamed(url)
        refused = given.refused(site)
        if dust is not None and dust.suspended:
            refused |= {dust.rules[key] for key in dust.suspended}
        found = renamed(name, learnt, _template_of, rules, refused, url)
        if found is None or dust is None or found.is_given or not is_probe(url, self._probed(dust)):
            return found
        return found if is_paired(dust, found.key, found.url) else None  # a second pair of a page would say nothing

    def _probed(self, dust: SiteDust) -> float:
        """The share of URLs that keep their names: of the pages, where these have many names."""
        return self._settings.probe * min(1.0, dust.pages / max(dust.remembered, 1))

    def reconsider(self, discovery: Discovery) -> Verdict:
        """The name of a URL that was admitted before a rule was learnt."""
        return self.judge(discovery)

    def renamed(self, variant: Url, target: Url) -> None:
        """Record that a URL was renamed to one that was not known before."""
        dust = self._states.about(variant).value(SiteDust)
        found = None if dust is None else self.new_name(variant, dust)
        if found is not None and found.url == target and not found.is_given:
            changing = self._states.changing(variant).value(SiteDust)
            if changing is not None:
                note_target(changing, target, variant, found.key)

    def may_remember(self, variant: Url) -> bool:
        """Whether there is room to remember a URL that was renamed, in case its rule is withdrawn. It is counted."""
        dust = self._states.changing(variant).value(SiteDust)
        return dust is not None and remember(dust)

    def wanted_pairs(self, url: Url) -> list[WantedPair]:
        """The bases with which a new URL would be a pair for a rule of which too little is known."""
        if not self._settings.enabled or not _may_vary(url):
            return []
        dust = self._states.about(url).value(SiteDust)
        known = dust.known.values() if dust else ()
        found = operations(url, path_template_of(url), known, has_secure=False)  # a scheme is not looked for
        wanted = open_operations(dust, found, self._settings)
        return [(Url(each.base), partial(self._looked_for, url, each)) for each in wanted]

    def _looked_for(self, url: Url, operation: UrlRenaming, is_known: bool) -> None:
        """Record that the base of a new URL was looked up."""
        state = self._states.changing(url)
        looked_for(state.value(SiteDust) or state.keep(SiteDust()), operation, is_known)


def _may_vary(url: Url) -> bool:
    """Whether a URL looks like one of several names of a page."""
    path = url[url.index("/", 8) :]
    return "?" in path or not path.islower() or path.startswith(PREFIXES) or "/index." in path


def _template_of(url: str) -> str:
    return path_template_of(Url(url)) if url.find("/", 8) > 0 else "/"
