"""Guards against traps, which learn from what was fetched: URL spaces without an end and without contents.

Reasons: `low-yield`, `endless`, `parameter-values`.

Calendars, facets, soft 404s and circular links have in common that a program writes URL after URL from one template
and that the pages say the same (Olston & Najork 2010, section 6.2). So pages are counted by template, and:

* over the last 50 fetched pages of a template fewer than 5 % have contents not seen before: *one URL in ten* of that
  template is let through from then on, chosen by a hash of the URL; after 50 more such pages one in a hundred; and so
  on. A full window at or above 5 % gives the last step back (`evidence.Window` has the details);
* a directory whose path holds a number, such as a month of a calendar, is worth no more than the pages directly in it:
  it is throttled with them;
* URLs whose last segment their path already held count together for each site: relative links that lost their slash
  make paths of any template (`/a/b/a/`), which grow hop by hop. Honest paths of this form have contents of their own;
* all URLs of a path that have parameters count together as well: combined filters make many templates, each with few
  pages. A poor window of these throttles only templates of which ten pages were read and hardly one was new;
* a chain of 20 pages that each led to one more page of their template, and resembled the one before, counts as a poor
  window of that template, however new each page is (`PageChain`);
* a parameter of a path that has taken more than 1,000 values is an identifier if its pages differ, and otherwise a
  session, a date or a facet: from then on 20 % of its last 50 pages must be unique, or it is throttled alike.

Pages without an end may each have a text of their own. What is below the first segment of a path is a branch. Deep
pages of a branch (more than 3 links from a seed) of a site with many pages are endless if 1,000 of them led to at least
1.2 new pages of the branch each, and hardly one of these was linked from a second page before it was read: the pages of
large sites link to each other, a chain of chapters or a thread adds one page a page, and a tree of pages ends in leaves
long before. A tenth of the deep URLs of the branch is let through from then on, later a hundredth, and all again as
soon as 100 pages led to less than one new page each. A single chain is bounded by the greatest depth alone
(`budgets.max_depth`).

When a site has nothing else left, a throttled branch is followed: its 40 deepest URLs that were refused are read, then
the 40 deepest of what these led to, ten times. A tree of pages, however large, has its leaves there, and is then read
whole; what has no end costs 400 requests more.

After that up to 60 of the URLs that were refused for `low-yield` or `parameter-values` are read after all, and every
page among them with new contents is worth 20 more. If they led to no URL that was not known, their kinds have an end:
then the rest is read, if these are no more than the pages of the site that had new contents. What has no end costs some
more requests, after everything else. Chains stay throttled: their pages are all new.

Pages that repeat what their own path shows with other parameters are evidence about parameters. They say nothing about
paths of which no page was read: a URL of such a path is judged by the pages that were the first of their paths, in
windows of their own. Nor is a URL throttled whose path was read, and whose only parameter has at most eight values:
there are no more of them than that for each path, unless new paths have no new contents either. A segment that looks
made up (`/s-3f9a60c1/`) is a parameter in this respect: it may be a session, and the path without it the page.

No URL is refused for lack of evidence: a shop with 50,000 products is not a trap because none of them was fetched yet.
The price is that a trap's URLs enter the queue until its first window is full; `reconsider` asks again when such a URL
is about to be fetched. Seeds are exempt; submissions of forms are exempt from `parameter-values`. Everything is
bounded: templates, parameters and their values for each site.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from periplus.model import ConfigError, Discovery, Reject, Site, Source, Url, Verdict
from periplus.urls import site_of

from .reasons import ACCEPT
from .settings import TrapSettings
from .site_states import (
    MAX_REFUSED,
    MAX_STEPS,
    MAX_WINDOW,
    FilterStates,
    Growth,
    ParameterCounts,
    Paths,
    SiteFilterState,
    Values,
    Window,
)
from .templates import MADE_UP, directory_of, follow, key_of, parameters_of, path_template_of, template_of

SECOND_LOOK = 60
"""Pages of throttled kinds that are read at the end of a site without anything new: then fewer than one in twenty
of their kind is new, with a certainty of 95 %."""
_LONGEST_RULE = 200
FEW_VALUES = 8
"""Values of the only parameter of a template up to which its URLs are not throttled; what has no end has more."""
_GROWN = "grown paths"
"""The name under which the URLs of grown paths count together. No template holds a space."""
_GROWN_KEY = key_of(_GROWN)
_FEWEST_SLASHES = 4
"""Slashes of the shortest URL whose path has two segments: `http://host/a/a`."""
_SHORTEST_ORIGIN = len("http://h")
"""Characters of a URL before which no path begins."""
_FREE_DEPTH = 3
"""Links from a seed up to which pages are not deep."""
_GROWTH = 1.2
"""New pages that each deep page of an endless branch leads to, at least."""
_LASTING_GROWTH = 1.0
"""The same for a branch that was throttled: what has less comes to an end."""
_SHARED = 0.05
"""Share of these that a second page links to, at most."""
_SAMPLED = 4
"""One link in this many is looked at."""
_JUDGED_AGAIN = 100
"""Pages of a throttled branch after which it is judged again."""
_SETTLED_BY = 40
"""Links of the sample by which a branch may be known to have an end."""
_ENDLESS_STEPS = 2
"""Steps by which a branch is throttled at most: one URL in a hundred."""
_FOLLOWED = 40
"""URLs of a throttled branch that are let through when its site has no others left: those furthest from the seeds."""
_MAX_LOOKS = 10
"""How often, at most: a tree of pages has an end long before."""
_MAX_BRANCHES = 8
"""Branches of a site of which the growth is followed, at most."""


class Traps:
    """Throttles templates and parameters whose pages repeat the same contents."""

    def __init__(self, states: FilterStates, settings: TrapSettings | None = None) -> None:
        self._states = states
        self._settings = settings = _checked(settings or TrapSettings())
        self._limits = [int(2**64 * settings.throttle**steps) for steps in range(MAX_STEPS + 1)]
        self.lifted: dict[Site, None] = {}
        """Sites of which a kind of URL is throttled less since this was last cleared."""

    def concerns(self, state: SiteFilterState) -> bool:
        """Whether something is throttled at a site: at few sites it is."""
        return state.throttled > 0

    def judge(self, discovery: Discovery) -> Verdict:
        """Refuse most URLs of what is throttled."""
        url = discovery.url
        state = self._states.about(url)
        if not state.throttled or discovery.source is Source.SEED:
            return ACCEPT
        if state.growths and discovery.depth > _FREE_DEPTH:
            branch = _branch_of(url)
            key = key_of(_below(branch))
            growth, window = state.growths.get(key), state.templates.get(key)
            is_followed = growth is not None and growth.following > 0
            if window is not None and not is_followed and key_of(url) >= self._limits[window.steps]:
                return Reject("endless", branch[:_LONGEST_RULE])
        if state.second_look > 0 and not _is_chain(url, state):
            return ACCEPT
        return self._judge_throttled(url, state, has_values=discovery.source is Source.FORM)

    def reconsider(self, discovery: Discovery) -> Verdict:
        """Whether a URL that was admitted before there was evidence would be admitted still."""
        return self.judge(discovery)

    def admit(self, discovery: Discovery) -> Verdict:
        """Count the values of its parameters: it is new."""
        url = discovery.url
        if "?" in url and discovery.source is not Source.FORM:
            self._count_values(url)
        return ACCEPT

    def observe(self, url: Url, is_unique: bool) -> None:
        """Learn from a page that was fetched; `is_unique`: no other URL had its text before.

        What is not a page (404) is not unique.
        """
        settings = self._settings
        state = self._states.changing(url)
        state.read += 1
        state.unique += is_unique
        template = template_of(url)
        keys = [*_window_keys(template)]
        if _is_grown(url):
            keys.append(_GROWN_KEY)
        if _is_first(url, template, state):
            keys.append(key_of(_first_of(template)))
        if state.second_look > 0:
            self._count_second_look(keys, is_unique, state)
        for key in keys:
            window = _filed(key, state, settings.max_templates)
            if window is not None:
                self._note(url, window, is_unique, settings.min_unique, state)
        if "?" not in template or not state.parameters:
            return
        for _, parameter in _parameters(url, template, state):
            least = 0.0 if parameter.values is not None else settings.min_unique_values
            self._note(url, parameter.window, is_unique, least, state)

    def follow(self, site: Site) -> int:
        """Let some URLs of endless branches through: their site has no others left. How many, at most."""
        state = self._states.of(site)
        followed = [
            growth
            for key, growth in state.growths.items()
            if growth.looks < _MAX_LOOKS and (window := state.templates.get(key)) is not None and window.steps
        ]
        if followed:
            self._states.changing(Url(f"http://{site}/"))
        for growth in followed:
            growth.looks += 1
            growth.following = _FOLLOWED
        return len(followed) * _FOLLOWED

    def look_again(self, site: Site) -> int:
        """Let some URLs of other throttled kinds through: their site has no others left. How many, at most."""
        state = self._states.of(site)
        known = state.admitted + state.refused
        more = max(state.second_look, SECOND_LOOK)
        if state.second_look < 0:
            rest = known - state.read
            has_end = known == state.known and state.refused < MAX_REFUSED
            more = rest if has_end and rest <= state.unique else 0
        if not state.throttled or more <= 0:
            return 0
        state = self._states.changing(Url(f"http://{site}/"))
        state.known = known
        if state.second_look <= 0:
            state.second_look = more
        return more

    def _count_second_look(self, keys: Sequence[int], is_unique: bool, state: SiteFilterState) -> None:
        if not any((window := state.templates.get(key)) is not None and window.steps for key in keys):
            return
        if not is_unique:
            state.second_look = state.second_look - 1 or -1
        elif state.second_look < SECOND_LOOK:
            state.second_look = min(state.second_look + int(1 / max(self._settings.min_unique, 0.01)), SECOND_LOOK)

    def _note(self, url: Url, window: Window, is_unique: bool, least: float, state: SiteFilterState) -> None:
        was_throttled = window.steps > 0
        if window.observe(is_unique, self._settings.window, least) < 0:
            self.lifted[site_of(url)] = None
        state.throttled += (window.steps > 0) - was_throttled

    def page_read(self, url: Url, depth: int, sketch: bytes, links: Sequence[Url]) -> None:
        """Throttle the template of a page read for the first time if it ends a long chain of pages without contents.

        `depth`: how far from the seeds; `sketch`: of its main text; `links`: where it leads.
        """
        settings, state = self._settings, self._states.changing(url)
        if depth > _FREE_DEPTH and 0 < settings.endless_pages <= state.admitted:
            self._note_growth(url, links, state)
        chain = follow(state.chains, url, depth, sketch, links, settings.chain_likeness)
        if chain is None or chain.length < settings.chain_pages:
            return
        chain.length = 0
        window = _filed(key_of(template_of(url)), state, settings.max_templates)
        if window is not None:
            state.throttled += not window.steps
            window.throttle()

    def _note_growth(self, url: Url, links: Sequence[Url], state: SiteFilterState) -> None:
        """Count a deep page of a branch, and judge the branch after many."""
        branch = _branch_of(url)
        key = key_of(_below(branch))
        growth = state.growths.get(key)
        if growth is None:
            if len(state.growths) >= _MAX_BRANCHES:
                return
            growth = state.growths[key] = Growth()
        growth.pages += 1
        if not growth.is_settled:
            _sample(growth, url, [link for link in links if link.startswith(branch)])
        window = state.templates.get(key)
        steps = 0 if window is None else window.steps
        growth.following -= growth.following > 0
        if growth.pages < (_JUDGED_AGAIN if steps else self._settings.endless_pages):
            return
        least = _LASTING_GROWTH if steps else _GROWTH
        if growth.is_settled or _SAMPLED * growth.fresh < least * growth.pages or _is_shared(growth):
            del state.growths[key]
            if window is not None:
                window.steps = 0
                state.throttled -= steps > 0
                self.lifted[site_of(url)] = None
            return
        window = _filed(key, state, self._settings.max_templates)
        if window is not None:
            window.steps = min(steps + 1, _ENDLESS_STEPS)
            state.throttled += not steps
        growth.pages = growth.fresh = growth.shared = 0

    def _judge_throttled(self, url: Url, state: SiteFilterState, *, has_values: bool = False) -> Verdict:
        """`has_values`: a form was submitted, whose parameters have values by design."""
        template = template_of(url)
        place = key_of(url)
        first = _first_of(template)
        is_known = state.paths is not None and state.paths.has(_path_key(url))
        is_first = state.paths is not None and not is_known and not state.paths.is_full
        is_bounded = is_known and not _is_throttled(first, state) and _has_few_values(url, state)
        names = [] if is_bounded else [first if is_first else template]
        if template.endswith("/"):
            names.append(_contents_of(template))
        if _is_grown(url):
            names.append(_GROWN)
        for name in names:
            window = state.templates.get(key_of(name))
            if window is not None and place >= self._limits[window.steps]:
                return Reject("low-yield", template[:_LONGEST_RULE])
        if is_first or is_bounded:
            return ACCEPT
        if "?" in template and self._is_poor_combination(template, place, state):
            return Reject("low-yield", template[:_LONGEST_RULE])
        for name, parameter in () if has_values else _parameters(url, template, state):
            if place >= self._limits[parameter.window.steps]:
                return Reject("parameter-values", name[:_LONGEST_RULE])
        return ACCEPT

    def _is_poor_combination(self, template: str, place: int, state: SiteFilterState) -> bool:
        """Whether a template is throttled with all URLs of its path that have parameters."""
        together = state.templates.get(key_of(_combinations_of(template)))
        if together is None or place < self._limits[together.steps]:
            return False
        own = state.templates.get(key_of(template))
        is_known = own is not None and own.length >= self._settings.least_pages
        return is_known and own is not None and own.bits.bit_count() < self._settings.min_unique * own.length

    def _count_values(self, url: Url) -> None:
        state = self._states.changing(url)
        path = path_template_of(url)
        for name, value in parameters_of(url):
            key = _parameter_key(path, name)
            parameter = state.parameters.get(key)
            if parameter is None:
                if len(state.parameters) >= self._settings.max_parameters:
                    continue
                parameter = state.parameters[key] = ParameterCounts(Values(), Window())
            values = parameter.values
            if values is not None and values.add(key_of(value)) and values.exceeds(self._settings.max_values):
                parameter.values = None


@lru_cache(maxsize=4096)
def _window_keys(template: str) -> tuple[int, ...]:
    """Where a page counts: with its template, its directory, and combined parameters. Pages share few templates."""
    names = [template]
    directory = "" if template.endswith("/") else directory_of(template)
    if directory:
        names.append(_contents_of(directory))
    if "?" in template:
        names.append(_combinations_of(template))
    return tuple(key_of(name) for name in names)


def _is_first(url: Url, template: str, state: SiteFilterState) -> bool:
    """Whether this page is the first of its path, as far as known. Paths count once one was read that may vary."""
    if state.paths is None and _is_varied(url, template):
        state.paths = Paths()
    return state.paths is not None and state.paths.add(_path_key(url))


def _filed(key: int, state: SiteFilterState, room: int) -> Window | None:
    """The window by that key, or a new one; there is room for those seen last, and for those that are throttled."""
    templates = state.templates
    window = templates.pop(key, None)
    if window is None:
        if len(templates) >= room and not _make_room(templates):
            return None
        window = Window()
    templates[key] = window
    return window


def _make_room(templates: dict[int, Window]) -> bool:
    for key, window in templates.items():
        if not window.steps:
            del templates[key]
            return True
    return False


def _branch_of(url: Url) -> str:
    """What all URLs of a branch begin with: the first segment of the path, if it has a second one."""
    start = url.index("/", _SHORTEST_ORIGIN)
    end = url.find("/", start + 1)
    return url[: (start if end < 0 else end) + 1]


def _below(branch: str) -> str:
    """The name under which the deep pages of a branch count together. No template holds a space."""
    return f"below {branch}"


def _sample(growth: Growth, url: Url, links: Sequence[Url]) -> None:
    """Note which of some links of a page are new, and which were found elsewhere."""
    growth.done.add(key_of(url))
    for key in {key_of(link) for link in links}:
        if key % _SAMPLED or growth.done.has(key):
            continue
        if growth.seen.is_full:
            growth.seen = Paths()
        if growth.seen.add(key):
            growth.fresh += 1
        else:
            growth.shared += 1
            growth.done.add(key)
    if growth.done.is_full:
        growth.done = Paths()
    growth.is_settled = growth.fresh >= _SETTLED_BY and _is_shared(growth)


def _is_shared(growth: Growth) -> bool:
    return growth.shared > _SHARED * growth.fresh


def _contents_of(directory: str) -> str:
    """The name under which the pages directly in a directory count together. No template holds a space."""
    return f"in {directory}"


def _combinations_of(template: str) -> str:
    """The name under which all URLs of a path that have parameters count together. No template holds a space."""
    return f"with parameters {template.partition('?')[0]}"


def _first_of(template: str) -> str:
    """The name under which the first pages of all paths of a template count together. No template holds a space."""
    return f"first of {template}"


def _path_key(url: Url) -> int:
    """The key of a path without parameters, nor segments that look made up."""
    return key_of(MADE_UP.sub("", url.partition("?")[0]))


def _is_varied(url: Url, template: str) -> bool:
    """Whether a URL has parameters, or a segment that looks made up, so that others may show the same."""
    return "?" in template or ("*" in template and MADE_UP.search(url, _SHORTEST_ORIGIN) is not None)


def _is_throttled(name: str, state: SiteFilterState) -> bool:
    window = state.templates.get(key_of(name))
    return window is not None and window.steps > 0


def _is_chain(url: Url, state: SiteFilterState) -> bool:
    window = state.templates.get(key_of(template_of(url)))
    return window is not None and window.is_chain


def _has_few_values(url: Url, state: SiteFilterState) -> bool:
    """Whether a URL has neither a parameter nor a segment that looks made up, or one parameter with few values."""
    if MADE_UP.search(url, _SHORTEST_ORIGIN):
        return False
    names = {name for name, _ in parameters_of(url)}
    if len(names) != 1:
        return not names
    parameter = state.parameters.get(_parameter_key(path_template_of(url), names.pop()))
    return parameter is not None and parameter.values is not None and parameter.values.estimate() <= FEW_VALUES


def _is_grown(url: Url) -> bool:
    """Whether the last segment of a path stands in it before. Figures are exempt: dates repeat."""
    if url.count("/") < _FEWEST_SLASHES:
        return False
    path = url.partition("?")[0].rstrip("/")
    last = path[path.rindex("/") :]
    if path.find(last, _SHORTEST_ORIGIN) + len(last) == len(path):  # it stands nowhere else, not even as a beginning
        return False
    segments = path.split("/")[3:]
    return len(segments) > 1 and segments[-1] in segments[:-1] and not segments[-1].isdecimal()


def _parameter_key(path: str, name: str) -> int:
    return key_of(f"{path}?{name}")


def _parameters(url: Url, template: str, state: SiteFilterState) -> Iterator[tuple[str, ParameterCounts]]:
    """The stored parameters of a URL, each once."""
    if "?" not in template or not state.parameters:
        return
    path = template.partition("?")[0]
    for name in sorted({name for name, _ in parameters_of(url)}):
        parameter = state.parameters.get(_parameter_key(path, name))
        if parameter is not None:
            yield name, parameter


def _checked(settings: TrapSettings) -> TrapSettings:
    if not 1 <= settings.window <= MAX_WINDOW:
        raise ConfigError(f"window = {settings.window}", hint=f"a window holds 1 to {MAX_WINDOW} pages")
    for name, value in (("min_unique", settings.min_unique), ("min_unique_values", settings.min_unique_values)):
        if not 0.0 <= value <= 1.0:
            raise ConfigError(f"{name} = {value}", hint="a share is a number from 0 to 1")
    if not 0.0 < settings.throttle < 1.0:
        raise ConfigError(f"throttle = {settings.throttle}", hint="a number between 0 and 1, such as 0.1")
    return settings
