"""Forms: what a form is for, whether it may be submitted, and which submissions bring its records (the deep web).

`kinds` says what a form is for, `submitting` whether we submit it, and the URL that does; `fields` what its fields are
for, and their values; `words` which word to search for next; `prober` the order of all that for one form. Everything is
a pure function of what was read; `crawl.forms` drives it.
"""

from .fields import Input, Use, inputs_of
from .kinds import FormKind, kind_of
from .prober import ProbedPage, Prober, ProberState
from .submitting import form_key, needs_value, refusal, submission
from .words import Words

__all__ = [
    "FormKind",
    "Input",
    "ProbedPage",
    "Prober",
    "ProberState",
    "Use",
    "Words",
    "form_key",
    "inputs_of",
    "kind_of",
    "needs_value",
    "refusal",
    "submission",
]
