"""Bodies that are small on the wire and huge in memory, each in a trial of its own: memory is judged by crawl."""

from __future__ import annotations

from gzip import compress
from itertools import islice

from ....hostile.connections import brotli_bomb, gzip_bomb
from ....hostile.script import HTML, Script, head
from ....http import Request
from ...cases import Case, Trial, trial
from ...sites import Handler, Web
from .honest import GROUP, MOST_MEMORY, goes_on, tell_stories

_SIZE = MOST_MEMORY * 3 // 2
_OWASP = "CWE-409: Improper Handling of Highly Compressed Data (Data Amplification)"


def _bombed(web: Web, name: str, says: str, bomb: Handler) -> Trial:
    """A trial with one bomb, that is linked before the honest pages."""
    site = web.site()
    honest = tell_stories(site)
    site.answers["/bomb"] = bomb
    site.page("/", "/bomb", "/town/")
    case = Case(name=name, says=says, source=_OWASP, wants=(site.url("/bomb"), *honest), judge=goes_on)
    return Trial(seed=site.url(), limit=60, seconds=240.0, cases=(case,))


@trial(GROUP)
def gzip(web: Web) -> Trial:
    """A page of 1.5 GiB in 1.5 MB."""
    return _bombed(
        web,
        "gzip-bomb",
        "A page that inflates a thousandfold is not inflated into memory.",
        lambda request: gzip_bomb(request, _SIZE),
    )


@trial(GROUP)
def brotli(web: Web) -> Trial:
    """A page of 1.5 GiB in 3 KB."""
    return _bombed(
        web,
        "brotli-bomb",
        "A page of a few kilobytes that inflates to gigabytes is not inflated into memory, in any coding.",
        lambda request: brotli_bomb(request, _SIZE),
    )


@trial(GROUP)
def nested_codings(web: Web) -> Trial:
    """A page of 1.5 GiB that was compressed twice: a few kilobytes."""
    return _bombed(
        web,
        "nested-bomb",
        "Codings in codings are bounded together: each of them may seem small.",
        _nested_bomb,
    )


def _nested_bomb(request: Request) -> Script:
    inner = b"".join(
        action for action in islice(gzip_bomb(request, _SIZE).actions, 1, None) if isinstance(action, bytes)
    )
    body = compress(inner)
    fields = (HTML, ("Content-Encoding", "gzip, gzip"), ("Content-Length", str(len(body))))
    return Script(200, iter([head(request, 200, *fields) + body]))
