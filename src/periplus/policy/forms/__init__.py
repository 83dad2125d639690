"""Forms: what a form is for, whether it may be submitted, and which submissions find its records (the deep web).

`kinds` says what a form and its fields are for; `submitting` whether we submit it, the URL that does, how often, and
when a form is left alone; `words` which word to search for next; `prober` the order of all that for one form.
Everything is a pure function of what was read; `crawl.forms` drives it.
"""

from typing import TYPE_CHECKING

from periplus.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from .kinds import FormKind, Use, inputs_of, kind_of
    from .prober import ProbedPage, Prober, ProberState, Results
    from .settings import FormRules, FormSettings
    from .submitting import (
        DAY,
        MAX_REFUSALS,
        asks_for_captcha,
        bounded,
        count_request,
        ending,
        form_key,
        is_query,
        is_refusal,
        max_requests,
        needs_value,
        next_day,
        refusal,
        submission,
    )
    from .words import Words
else:
    __getattr__ = lazy_exports(__name__)

__all__ = [
    "DAY",
    "MAX_REFUSALS",
    "FormKind",
    "FormRules",
    "FormSettings",
    "ProbedPage",
    "Prober",
    "ProberState",
    "Results",
    "Use",
    "Words",
    "asks_for_captcha",
    "bounded",
    "count_request",
    "ending",
    "form_key",
    "inputs_of",
    "is_query",
    "is_refusal",
    "kind_of",
    "max_requests",
    "needs_value",
    "next_day",
    "refusal",
    "submission",
]
