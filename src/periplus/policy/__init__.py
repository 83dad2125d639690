"""Every decision of the house, pure: values in, verdicts and numbers out, no clock, no chance of its own, no disk.

`filters` says whether we want a URL at all, and by which rule not; `ordering` says how much we want it, and which site
to turn to next; `duplicates` says which pages say the same, and by which URL to know them. Each policy is small, has
a name, and is described in `docs/policies.md` with the paper that it follows. Time arrives inside the values, chance
as a seed.
"""

from . import duplicates, filters, ordering

__all__ = ["duplicates", "filters", "ordering"]
