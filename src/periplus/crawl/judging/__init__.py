"""Judgements of pages and sites that a crawl reaches itself: soft 404s, cloaking, redirection spam.

`absence` finds error pages that were sent with status 200, `cloaking` pages that show browsers something else, and
hosts that send their readers away. Both ask sites by probes (`Frontier.queue_probes`), and report what they find as
events. What they learn of a site is part of its record; what they decide is in `policy.absence` and `policy.cloaking`.
"""

from typing import TYPE_CHECKING

from periplus.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from .cloaking import ComparisonState
    from .judges import Judges, JudgeSettings
else:
    __getattr__ = lazy_exports(__name__)

__all__ = ["ComparisonState", "JudgeSettings", "Judges"]
