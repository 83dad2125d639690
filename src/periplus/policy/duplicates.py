"""Near-duplicates: which pages have nearly the same text, and by which of their URLs to know them.

A page joins a cluster only if it resembles the cluster's first page: otherwise chains of small differences would merge
half a site. The sketch is that of a page's main text (`periplus.content`), since the template that pages of a site
share makes different pages look alike (Henzinger 2006). Nothing is stored here: that is `store`.

A cluster is kept in a bounded form: how many pages are in it, and the `MAX_KEPT` members that have the best claim to
stand for it. New pages are compared with the first page, so its site is kept too; its text is kept elsewhere (`store`).

The canonical URL is, in this order: one that its site lists in a sitemap (Schonfeld & Shivakumar 2009); one that
another member names by `rel=canonical`, which is believed here because both are of one cluster; the one
that links make worth most; the shortest; the first in the order of the alphabet.

`rel=canonical` and redirects are hints (RFC 6596; RFC 9110 section 15.4), and hints are wrong: templates that name the
home page on every page, canonicals that lead to errors, sites that claim the pages of others. A hint is believed unless
what is known of its target contradicts it:

| reason | believed | when |
|---|---|---|
| `names-itself` | yes | the target is the page |
| `same-text` | yes | the target was read and resembles the page |
| `moved-for-good` | yes | a permanent redirect, whose target was read, or was not asked for yet |
| `not-read-yet` | yes | not asked for yet, on the same site, and not its home page |
| `other-text` | no | the target was read and says something else |
| `target-is-gone` | no | the target could not be had |
| `target-points-on` | no | the target names another URL itself: ask there |
| `names-home-page` | no | not asked for yet, and it is the home page that is named: mostly a template's mistake |
| `elsewhere` | no | not asked for yet, and on another site, which would have to agree |
| `moved-for-now` | no | a redirect for the time being: the page keeps its name |

`believe` is the one rule; `insight` has it in SQL. A hint believed before its target was read must be judged again
afterwards.

A sketch has 128 values of 32 bits. Its *brief* is the lowest byte of each: b-bit minwise hashing (Li & König 2010) with
b = 8. Two values that differ agree in that byte once in 256 times, which is taken off again: the estimate of
resemblance J is (E - 1/256) / (1 - 1/256) for a share E of equal bytes, as exact as that of the whole sketch for a
quarter of the room.

Eight bytes of a brief side by side are a band, a key of 64 bits as they stand. Pages that share one of the 16 are worth
comparing: at J = .9 they do with probability .9999, at .7 with .61, at .5 with .06 (locality-sensitive hashing, Indyk
& Motwani 1998).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from periplus.model import Site, Sketched, Url
from periplus.urls import site_of

from .settings import VALUES, DuplicateSettings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_KEPT: Final = 8
"""Maximum number of members whose URLs a cluster stores."""


class Member(Struct, frozen=True, array_like=True, gc=False):
    """A page that may represent its cluster. `names` is the canonical URL it declares."""

    url: Url
    is_listed: bool = False
    worth: float = 0.0
    names: Url | None = None
    is_named: bool = False


class Cluster(Struct, frozen=True, array_like=True):
    """Pages that say the same. `has_first`: one of them counts as the original, and the others as its copies.

    `site` and `links` are those of the page that it began with.
    """

    site: Site
    size: int
    has_first: bool
    members: tuple[Member, ...]
    links: int = 0


def founded(page: Sketched, site: Site) -> Cluster:
    """A cluster of one."""
    return Cluster(site, 1, True, (_member(page),), page.links)


def joined(cluster: Cluster, page: Sketched, *, is_new: bool) -> Cluster:
    """The cluster with this page; `is_new`: it was not counted yet. A known page is updated."""
    was = known_as(cluster, page.url)
    member = replace(_member(page), is_named=was is not None and was.is_named)
    return replace(_with(cluster, member), size=cluster.size + is_new)


def listed(cluster: Cluster, url: Url) -> Cluster:
    """The cluster after the site of this page lists it. The page must have been counted."""
    return _with(cluster, replace(known_as(cluster, url) or Member(url), is_listed=True))


def left(cluster: Cluster, url: Url, *, was_first: bool) -> Cluster:
    """Without this page, which must have been counted."""
    members = tuple([each for each in cluster.members if each.url != url])
    return replace(cluster, size=cluster.size - 1, has_first=cluster.has_first and not was_first, members=members)


def known_as(cluster: Cluster, url: Url) -> Member | None:
    """The stored claims of this page, if the cluster has its URL."""
    return next((each for each in cluster.members if each.url == url), None)


def canonical(cluster: Cluster) -> Url | None:
    """The canonical URL of the cluster; `None` if no stored member is left."""
    return min(cluster.members, key=_claim).url if cluster.members else None


def _member(page: Sketched) -> Member:
    return Member(page.url, page.is_listed, page.worth, page.canonical)


def _with(cluster: Cluster, member: Member) -> Cluster:
    members = _with_names([*[each for each in cluster.members if each.url != member.url], member])
    if len(members) > MAX_KEPT:
        members = sorted(members, key=_claim)[:MAX_KEPT]
    return replace(cluster, members=tuple(members))


def _with_names(members: list[Member]) -> list[Member]:
    """Mark the members that others name, which holds when those are forgotten. One that names itself does not count."""
    named = {each.names for each in members if each.names not in (None, each.url)}
    return [replace(each, is_named=True) if each.url in named and not each.is_named else each for each in members]


def _claim(member: Member) -> tuple[bool, bool, float, int, Url]:
    """The smaller, the better."""
    return not member.is_listed, not member.is_named, -member.worth, len(member.url), member.url


class HintKind(Enum):
    """The source of a hint about the canonical URL."""

    CANONICAL = "canonical"
    MOVED_FOR_GOOD = "moved-for-good"
    MOVED_FOR_NOW = "moved-for-now"


class Hint(Struct, frozen=True):
    """A page, or the server's redirect, says that its URL should be `target`."""

    url: Url
    target: Url
    kind: HintKind


class HintTarget(Struct, frozen=True):
    """The known facts about the target of a hint.

    `is_like`: its text resembles that of the page; `None` if it was not read, or the page has no text. `is_gone`: it
    was requested and does not exist. `names` is the canonical URL that it declares itself.
    """

    is_asked: bool = False
    is_like: bool | None = None
    is_gone: bool = False
    names: Url | None = None


class Belief(Struct, frozen=True):
    """Whether to believe a hint, and why: the reasons are in the module's table."""

    is_believed: bool
    reason: str


def believe(hint: Hint, target: HintTarget) -> Belief:
    """Judge a hint by the known facts about its target."""
    if hint.target == hint.url:
        return Belief(True, "names-itself")
    if hint.kind is HintKind.MOVED_FOR_NOW:
        return Belief(False, "moved-for-now")
    if target.is_gone:
        return Belief(False, "target-is-gone")
    if target.names not in (None, hint.target):
        return Belief(False, "target-points-on")
    if hint.kind is HintKind.MOVED_FOR_GOOD:
        return Belief(True, "moved-for-good")
    if target.is_asked:
        return Belief(True, "same-text") if target.is_like else Belief(False, "other-text")
    return _unread(hint)


def _unread(hint: Hint) -> Belief:
    site = site_of(hint.target)
    if site != site_of(hint.url):
        return Belief(False, "elsewhere")
    if hint.target.endswith(f"://{site}/"):
        return Belief(False, "names-home-page")
    return Belief(True, "not-read-yet")


BANDS: Final = 16
_VALUE_BYTES: Final = 4
_BY_CHANCE: Final = 1 / 256
_FEW_REPEATS: Final = 4
_NOTHING: Final = bytes(VALUES)
_FEW: Final = 8
"""Briefs up to which each is compared as one number: an array takes as long to make as eight of these."""


def brief_of(sketch: bytes) -> bytes:
    """The lowest byte of each value; all equal for a page without words, or for an invalid sketch."""
    return sketch[::_VALUE_BYTES] if len(sketch) == VALUES * _VALUE_BYTES else _NOTHING


def rows_of(briefs: Sequence[bytes]) -> NDArray[np.uint8]:
    """Briefs as an array, a row for each: on many at once, what follows costs little."""
    import numpy as np

    return np.frombuffer(b"".join(briefs), np.uint8).reshape(-1, VALUES)


def are_thin(rows: NDArray[np.uint8], settings: DuplicateSettings) -> NDArray[np.bool_]:
    """Which of these pages have hardly any text.

    A page of n different shingles fills about 128 (1 - exp(-n/128)) places of its sketch, and the others repeat those.
    What a site says when it has nothing to say ("please enable scripts") must not make one page of all of them.
    """
    import numpy as np

    repeats = (rows[:, 1:] == rows[:, :-1]).sum(axis=1) + (rows[:, 2:] == rows[:, :-2]).sum(axis=1)
    thin: NDArray[np.bool_] = repeats >= _FEW_REPEATS  # few pages with a text have that many: those are looked at
    for row in np.flatnonzero(thin).tolist():
        thin[row] = len(set(rows[row].tolist())) < settings.fewest_values
    return thin


def band_keys(rows: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """The key of each band of each brief."""
    import numpy as np

    return np.ascontiguousarray(rows).view(">u8").astype(np.uint64)


def likenesses(brief: bytes, others: Sequence[bytes]) -> list[float]:
    """The resemblance to each of the others, as estimated; never less than 0."""
    if len(others) > _FEW:
        equal: list[int] = (rows_of(others) == rows_of([brief])).sum(axis=1).tolist()
        return [_resemblance(count) for count in equal]
    number = int.from_bytes(brief, "big")
    differences = [(number ^ int.from_bytes(other, "big")).to_bytes(VALUES, "big") for other in others]
    return [_resemblance(each.count(0)) for each in differences]


def is_like(likeness: float, settings: DuplicateSettings, *, is_one_site: bool, has_same_links: bool) -> bool:
    """Whether two pages with this likeness are near-duplicates.

    A reordered list has different shingles at every boundary between items: a quarter of them if items have ten words.
    But all its links are the same.
    """
    if not is_one_site:
        return likeness >= settings.least_likeness
    return likeness >= (settings.least_likeness_reordered if has_same_links else settings.least_likeness_on_site)


def _resemblance(equal: int) -> float:
    return max(0.0, (equal / VALUES - _BY_CHANCE) / (1 - _BY_CHANCE))
