"""Whether the metadata archives of a site are exact: then its pages are visited because of them only.

Every visit to a page that an archive lists is a check. If the archives reported a change since the visit before, they
were right or wrong; if not, they missed a change or were rightly quiet. A change that an archive reports after the
visit that found it was not missed. Checks fade, so that a site which becomes careless loses its proof.

A site is exact if precision and recall are above `exact_share` over at least `exact_checks` checks, and no more than
the rest of the pages without a report had changed when they were visited. From then on a page without a report is not
due, whatever its change rate; `explore_share` of the visits still goes to random pages, which is how missed changes
are found.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from .settings import RefreshSettings

_KEEP = 0.5 ** (1.0 / 1000.0)
"""Factor by which checks fade with each further one: after 1,000 a check counts half."""


class ArchiveProof(Struct, frozen=True, array_like=True, gc=False):
    """Checks of the archives of a site, faded: reported and changed, reported only, changed only, and neither."""

    right: float = 0.0
    wrong: float = 0.0
    missed: float = 0.0
    quiet: float = 0.0

    @property
    def checks(self) -> float:
        """All checks."""
        return self.right + self.wrong + self.missed + self.quiet

    @property
    def precision(self) -> float:
        """The share of reported changes that visits confirmed; 0 if there were none."""
        return self.right / (self.right + self.wrong) if self.right else 0.0

    @property
    def recall(self) -> float:
        """The share of changes found by visits that archives had reported; 0 if there were none."""
        return self.right / (self.right + self.missed) if self.right else 0.0

    @property
    def stale_share(self) -> float:
        """The share of pages that had changed without a report, among those visited without one."""
        return self.missed / (self.missed + self.quiet) if self.missed else 0.0

    def is_exact(self, settings: RefreshSettings) -> bool:
        """Whether archives alone decide which pages of the site are visited again."""
        share = settings.exact_share
        is_proved = self.checks >= settings.exact_checks > 0 and min(self.precision, self.recall) > share
        return is_proved and self.stale_share <= 1.0 - share

    def checked(self, *, is_reported: bool, is_changed: bool) -> ArchiveProof:
        """After a visit to a page that an archive lists."""
        return ArchiveProof(
            _KEEP * self.right + (is_reported and is_changed),
            _KEEP * self.wrong + (is_reported and not is_changed),
            _KEEP * self.missed + (is_changed and not is_reported),
            _KEEP * self.quiet + (not is_reported and not is_changed),
        )

    def reported_late(self, *, is_changed: bool) -> ArchiveProof:
        """An archive reported a change before the last visit, which had found one or not."""
        if is_changed:
            moved = min(self.missed, 1.0)
            return replace(self, missed=self.missed - moved, right=self.right + moved)
        moved = min(self.quiet, 1.0)
        return replace(self, quiet=self.quiet - moved, wrong=self.wrong + moved)


NO_PROOF = ArchiveProof()
"""Of a site without archives, or without checks."""
