"""How far to trust canonical links and redirects.

`rel=canonical` and redirects are hints (RFC 6596; RFC 9110 section 15.4), and hints are wrong: templates that name the
home page on every page, canonicals that lead to errors, sites that claim the pages of others. A hint is believed if
what is known of its target does not speak against it:

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

What is believed of a target that was not read yet must be judged again when it was.
"""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from periplus.model import Url
from periplus.urls import site_of


class HintKind(Enum):
    """Where the hint comes from."""

    CANONICAL = "canonical"
    MOVED_FOR_GOOD = "moved-for-good"
    MOVED_FOR_NOW = "moved-for-now"


class Hint(Struct, frozen=True):
    """A page, or the server's redirect, says that its URL should be `target`."""

    url: Url
    target: Url
    kind: HintKind


class Target(Struct, frozen=True):
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


def believe(hint: Hint, target: Target) -> Belief:
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
