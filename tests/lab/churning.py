"""A world whose churn lies in the main text of its pages, where no pattern and no element tells it from content.

In the lab's own pages the region that turns over by the clock (a quotation, an advertisement, a token) is an aside,
which is not main text and so no change. Here it is moved to the end of what the page is about.
"""

from __future__ import annotations

import re

from msgspec.structs import replace

from periplus_lab import World
from periplus_lab.http import Answer, Request

_REGION = re.compile(rb'<aside class="churn">(.*?)</aside>', re.DOTALL)


class ChurningWorld(World):
    """The same truth, told by pages that are harder to read."""

    def answer(self, request: Request) -> Answer:
        """What the world says, with churn in the midst of it."""
        said = super().answer(request)
        return replace(said, body=moved(said.body)) if isinstance(said.body, bytes) else said


def moved(html: bytes) -> bytes:
    """A page with its churning region at the end of its main text."""
    found = _REGION.search(html)
    if found is None:
        return html
    region = b'<div class="churn">' + found[1] + b"</div>"
    rest = _REGION.sub(b"", html)
    end = b"</article>" if b"</article>" in rest else b"</body>"
    return rest.replace(end, region + end)
