"""Learns, for one site, which kinds of links lead to targets, and which kind is worth the next request.

An *action* is a kind of link: a tag path, the folder and the extension of the URL, and the section of the page that it
stands on, because many sites give the pages of all sections URLs of one form. It is awake while a link of it waits:
sleeping bandits (Kleinberg, Niculescu-Mizil & Sharma 2010), as Gauquier, Manolescu & Senellart (2026) use them. The
reward of a request is the number of new targets that it shows: what was fetched may be one itself, and a page may link
to some whose names say so. Three things differ from their SB-CLASSIFIER:

- A page is also worth what its links are worth: the *index* of an action is the largest number of targets per request
  that a request and the best of the links found by it bring, as with branching bandits (Weiss 1988). So a crawl finds
  its way over lists that have no targets themselves.
- An index is estimated from the action's own requests and from the indices of other actions that have something in
  common with it: the end of the path, the path, the extension, the first folder, the whole folder, the section. An
  action without requests is not tried for that reason alone, and URLs are not classified: an extension is another
  feature. Were only targets compared, a new kind of page two links away from them would seem to be worth nothing.
- The allowance for what is not known yet grows with the expected reward, not with a constant.

Names are kept as hashes and the number of actions is bounded: beyond it links join the action most like them. All of
it is a function of what was learnt, so that a crawl can be replayed.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

from msgspec import Struct, field
from xxhash import xxh3_64_intdigest

MAX_ACTIONS: Final = 126
"""Actions of a site: each has a level of its queue, and 126 levels have positive scores besides that of targets."""
MAX_ONWARD: Final = 24
"""Actions that an action is known to lead to; the rarest are forgotten."""
_OTHER: Final = 0
"""The action of seeds and of links from other sites."""
_OWN: Final = 2.0
"""Requests of experience with which an action starts: those that have something in common with it."""
_COMMON: Final = 1.0
"""The same for what they have in common: it starts with the mean of the site."""
_SHARED: Final = 0.5
"""Exponent of each thing in common: they are not independent."""
_EXPLORE: Final = 0.5
"""Weight of the allowance for what is not known yet."""
_FLOOR: Final = 0.02
"""The least expectation in that allowance, as a share of the site's mean."""
_NEW: Final = 0.9
"""Share of the links found so far that are expected to be found again, and to be new."""
_SWEEPS: Final = 3
"""Links ahead that an index sees."""
_EVERY: Final = 8
"""Requests between two computations of indices, once there were some dozen."""
_YOUNG: Final = 64
_TAIL: Final = 3
"""Elements at the end of a path."""
_FOLDERS: Final = 4
_LIKE: Final = (4, 3, 12, 2, 1, 1, 1)
"""How much each sign counts when a link joins the action most like it: first of all the extension."""

_DIGITS: Final = re.compile(r"\d+")
_MAX_JOINED: Final = 4096
"""Kinds of links without an action of their own whose action is held."""
_HASHED: Final = 8
"""Characters from which on a folder of which a quarter are digits has no name of its own."""
_HEX: Final = re.compile(r"(?=\D*\d)[0-9a-f]+")
"""A folder that is of a hash however short, such as `d3` or `5b19ac`: without a digit it may be a word."""
_BUCKET: Final = re.compile(r"[0-9a-f]{1,3}")
"""A folder among which pages are spread by a hash, if another stands beside it: alone it may be a language."""


class Action(Struct, array_like=True):
    """A kind of link: the hashes of its signs, its requests, the targets found by them, and the links to others.

    `index` and `prior`, the index that other actions let expect, were computed when there were fewer requests; `onward`
    counts new links by action.
    """

    signs: list[int]
    requests: float = 0.0
    targets: float = 0.0
    onward: dict[int, int] = field(default_factory=dict)
    index: float = 0.0
    prior: float = 0.0


class SiteTargets(Struct, array_like=True):
    """What was learnt of a site."""

    actions: list[Action] = field(default_factory=lambda: [Action([])])
    requests: float = 0.0
    targets: float = 0.0


class _Known(NamedTuple):
    """The mean index of requests; how many requests had a sign, and the sum of their indices."""

    mean: float
    requests: dict[int, float]
    indices: dict[int, float]


class SiteBandit:
    """The actions of a site."""

    def __init__(self, learnt: SiteTargets) -> None:
        self.learnt = learnt
        self._numbers: dict[tuple[int, ...], int] = {}
        self._joined: dict[tuple[int, ...], int] = {}
        for number, action in enumerate(learnt.actions):
            self._numbers[tuple(action.signs)] = number

    def action_of(self, url: str, path: str, page: str) -> int:
        """The action of a link on a page; a new one, if there is none of its kind and still room."""
        signs = signs_of(url, path, page)
        number = self._numbers.get(signs)
        if number is not None:
            return number
        actions = self.learnt.actions
        if len(actions) >= MAX_ACTIONS:
            if len(self._joined) >= _MAX_JOINED:
                self._joined.clear()
            if signs not in self._joined:
                self._joined[signs] = self._most_like(signs)
            return self._joined[signs]
        action = Action(list(signs))
        action.prior = action.index = _prior(action, self._known())
        actions.append(action)
        self._numbers[signs] = len(actions) - 1
        return len(actions) - 1

    def _most_like(self, signs: tuple[int, ...]) -> int:
        """The action with most in common; the first of several."""
        best, most = _OTHER, 0
        for number, action in enumerate(self.learnt.actions[1:], 1):
            common = sum(weight for weight, one, other in zip(_LIKE, signs, action.signs, strict=False) if one == other)
            if common > most:
                best, most = number, common
        return best

    def learn(self, number: int, targets: float, onward: Mapping[int, int]) -> None:
        """Record a request for a link of an action: the new targets that it showed, and new links by action."""
        learnt = self.learnt
        learnt.requests += 1.0
        learnt.targets += targets
        action = learnt.actions[number] if number < len(learnt.actions) else learnt.actions[_OTHER]
        action.requests += 1.0
        action.targets += targets
        for other, count in onward.items():
            action.onward[other] = action.onward.get(other, 0) + count
        if len(action.onward) > 2 * MAX_ONWARD:
            kept = sorted(action.onward.items(), key=lambda each: (-each[1], each[0]))[:MAX_ONWARD]
            action.onward = dict(sorted(kept))
        if learnt.requests < _YOUNG or learnt.requests % _EVERY == 0:
            self._compute()

    def ranked(self, numbers: Sequence[int]) -> list[int]:
        """These actions, the most promising first; of equals the first."""
        learnt = self.learnt
        mean = max(learnt.targets / max(learnt.requests, 1.0), 1e-3)
        known = _EXPLORE * math.sqrt(mean * math.log(learnt.requests + 2.0))

        def promise(number: int) -> float:
            action = learnt.actions[number] if number < len(learnt.actions) else learnt.actions[_OTHER]
            return action.index + known * math.sqrt(max(action.prior, _FLOOR * mean) / (action.requests + 1.0))

        return sorted(numbers, key=lambda number: (-promise(number), number))

    def _known(self) -> _Known:
        """What requests so far say of each sign."""
        actions = self.learnt.actions
        requests: dict[int, float] = defaultdict(float)
        indices: dict[int, float] = defaultdict(float)
        for action in actions:
            for sign in action.signs:
                requests[sign] += action.requests
                indices[sign] += action.requests * action.index
        total = sum(action.requests * action.index for action in actions)
        return _Known((total + 0.1) / (sum(action.requests for action in actions) + 1.0), requests, indices)

    def _compute(self) -> None:
        """Compute every prior and index from what is known now."""
        actions = self.learnt.actions
        known = self._known()
        for action in actions:
            action.prior = _prior(action, known)
        rewards = [(each.targets + _OWN * each.prior) / (each.requests + _OWN) for each in actions]
        indices = rewards
        for _ in range(_SWEEPS):
            indices = [_index(each, reward, indices) for each, reward in zip(actions, rewards, strict=True)]
        for action, index in zip(actions, indices, strict=True):
            action.index = index


def _prior(action: Action, known: _Known) -> float:
    """The index that is expected of an action by its signs: not more than the best of them lets expect alone."""
    mean, requests, indices = known
    factor, most = 1.0, mean
    for sign in action.signs:
        expected = (indices.get(sign, 0.0) + _COMMON * mean) / (requests.get(sign, 0.0) + _COMMON)
        factor *= (expected / mean) ** _SHARED
        most = max(most, expected)
    return min(mean * factor, most)


def _index(action: Action, reward: float, indices: Sequence[float]) -> float:
    """The most targets per request of a request and the best of the links that are found by it."""
    if not action.requests or not action.onward:
        return reward
    gained, spent = reward, 1.0
    for number, count in sorted(action.onward.items(), key=lambda each: (-indices[each[0]], each[0])):
        if indices[number] <= gained / spent:
            break
        links = _NEW * count / (action.requests + _OWN)
        gained += links * indices[number]
        spent += links
    return gained / spent


def signs_of(url: str, path: str, page: str) -> tuple[int, ...]:
    """The hashes of what tells links apart: end of the path and extension, path, extension, end, folders, section.

    The section is the first folder of the page that the link stands on, or of the URL if the page is in no folder.
    """
    folder, name, query = _parts(url)
    first, named = _named(folder)
    _, dot, extension = name.rpartition(".")
    kind = f"{extension.lower() if dot else ''}{'?' if query else ''}"
    end = "/".join(path.split("/")[-_TAIL:])
    section = _named(_parts(page)[0])[0] or first
    signs = (f"b{end} {kind}", f"p{path}", f"x{kind}", f"e{end}", f"f{first}", f"g{named}", f"s{section}")
    return tuple([xxh3_64_intdigest(sign.encode()) for sign in signs])


def _parts(url: str) -> tuple[str, str, str]:
    """The folder of a URL, the last name of its path, and its query."""
    place, _, query = url.partition("?")
    folder, _, name = place.partition("://")[2].partition("/")[2].rpartition("/")
    return folder, name, query


@lru_cache(maxsize=1024)
def _named(folder: str) -> tuple[str, str]:
    """The first folder and all of them, without what differs from page to page; links of a page have few."""
    folders = folder.split("/")[:_FOLDERS]
    named = [_lasting(each) for each in folders]
    for number, pair in enumerate(pairwise(folders)):
        if all(map(_BUCKET.fullmatch, pair)):
            named[number : number + 2] = "0", "0"
    return named[0], "/".join(named)


def _lasting(folder: str) -> str:
    """A folder without its digits, or all of it if it is of a hash."""
    digits = sum(map(str.isdecimal, folder))
    is_of_hash = (len(folder) >= _HASHED and 4 * digits >= len(folder)) or _HEX.fullmatch(folder)
    return "0" if is_of_hash else _DIGITS.sub("0", folder)
