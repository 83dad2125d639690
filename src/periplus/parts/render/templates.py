"""Whether the pages of a template need their scripts: decided once for all of them.

The pages of a template agree (`policy.filters.templates`). The first pages that seem to need scripts are rendered; if
most of them gain by it, the template needs scripts, and if they do not, its pages are not rendered. That is tested
again after ten times as many pages that seem to need scripts, then after a hundred times, and so on: the first of them
may have been read on a bad day. Any decision is tested again after some months. What is learnt is part of what is known
of the site.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from msgspec import Struct, field

from periplus.model import Render

from .settings import RenderMode, RenderSettings

LEAST_GROWTH: Final = 3
"""Factor by which the text must grow in the browser."""
LEAST_LINKS: Final = 10
"""Links that must be added in the browser, if the text does not grow as much."""
MAX_TEMPLATES: Final = 64
"""Templates of a site with a decision of their own; all others share one."""
_OTHERS: Final = 0
"""The key of the shared decision."""
_DAY: Final = 86_400.0


class TemplateDecision(Enum):
    """Whether the pages of a template need their scripts."""

    UNKNOWN = "unknown"
    NEEDED = "needs-scripts"
    NOT_NEEDED = "needs-no-scripts"


class TemplateTest(Struct, array_like=True):
    """The pages of a template that were rendered, how many gained by it, and since when it is decided.

    `flagged` are pages that seemed to need scripts where nothing is rendered, `passed` those that were not rendered
    because their template needs none.
    """

    decision: TemplateDecision = TemplateDecision.UNKNOWN
    rendered: int = 0
    gained: int = 0
    flagged: int = 0
    decided_at: float = 0.0
    passed: int = 0

    @property
    def seems_needed(self) -> bool:
        """Whether its pages need scripts, as far as that is known."""
        is_open = self.decision is TemplateDecision.UNKNOWN
        return self.decision is TemplateDecision.NEEDED or (is_open and self.flagged + self.gained > 0)


class SiteRendering(Struct, array_like=True):
    """The tests of the templates of a site, by the hash of each."""

    templates: dict[int, TemplateTest] = field(default_factory=dict)

    def of(self, template: int) -> TemplateTest | None:
        """The test of a template, if there was any."""
        return self.templates.get(template) or self.templates.get(_OTHERS)

    @property
    def needing(self) -> int:
        """How many templates need scripts, or seem to."""
        return sum(test.seems_needed for test in self.templates.values())

    def changing(self, template: int) -> TemplateTest:
        """The test of a template, to be modified."""
        known = self.templates.get(template)
        if known is None:
            key = template if len(self.templates) < MAX_TEMPLATES else _OTHERS
            known = self.templates.setdefault(key, TemplateTest())
        return known


def decision_for(known: SiteRendering | None, template: int, settings: RenderSettings, now: float) -> Render:
    """Whether a page of a template is opened in a browser."""
    if settings.mode == RenderMode.NEVER:
        return Render.NEVER
    if settings.mode == RenderMode.ALWAYS:
        return Render.ALWAYS
    test = None if known is None else known.of(template)
    if test is None or test.decision is TemplateDecision.UNKNOWN:
        return Render.TEST
    if now - test.decided_at > settings.retest_days * _DAY:
        return Render.TEST
    return Render.NEEDED if test.decision is TemplateDecision.NEEDED else Render.NEVER


def gains(plain_characters: int, plain_links: int, characters: int, links: int) -> bool:
    """Whether a page says more, or leads further, after its scripts ran."""
    has_grown = characters >= LEAST_GROWTH * max(plain_characters, 1)
    return has_grown or links >= plain_links + LEAST_LINKS


def count_rendered(test: TemplateTest, *, has_gained: bool, settings: RenderSettings, now: float) -> bool:
    """Count a page that was rendered; whether the template has been decided by it."""
    if test.decision is not TemplateDecision.UNKNOWN:
        if now - test.decided_at <= settings.retest_days * _DAY:
            return False
        test.rendered = test.gained = 0
        test.decision = TemplateDecision.UNKNOWN
    test.rendered += 1
    test.gained += has_gained
    if test.rendered < settings.tests:
        return False
    is_needed = 2 * test.gained > test.rendered
    test.decision = TemplateDecision.NEEDED if is_needed else TemplateDecision.NOT_NEEDED
    test.decided_at = now
    return True


def forget_decision(test: TemplateTest) -> None:
    """Have a template tested again."""
    test.decision = TemplateDecision.UNKNOWN
    test.rendered = test.gained = 0


def count_passed(test: TemplateTest, tests: int) -> None:
    """Count a page that seems to need scripts of a template that needs none, and have that tested again in time."""
    test.passed += 1
    due = 10 * tests
    while due < test.passed:
        due *= 10
    if test.passed == due:
        forget_decision(test)


def count_flagged(test: TemplateTest) -> bool:
    """Count a page that seems to need its scripts and was not rendered; whether it is the first of its template."""
    test.flagged += 1
    return test.flagged == 1
