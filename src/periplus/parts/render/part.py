"""Learns which templates of a site need their scripts, from the pages that are read (`parts.render`).

What is learnt is kept with what filters learn of the site, and decides whether later pages of the template are opened
in a browser. Where pages are never rendered, templates that seem to need it are only counted: one verdict for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from periplus.content import decode_body
from periplus.engine.part import Desk, Part, Setup
from periplus.engine.pipeline import Processed
from periplus.formats.headers import Headers
from periplus.model import Clock, ConfigError, Fetched, ParsedPage, Purpose, Render, Site, SubjectJudged, Url
from periplus.policy.filters import key_of, template_of
from periplus.urls import site_of

from .pages import FEWEST_LINKS, LONGEST_SHELL, completed, script_need
from .settings import UNAVAILABLE, RenderMode, RenderSettings, RenderTables
from .templates import (
    SiteRendering,
    TemplateDecision,
    TemplateTest,
    count_flagged,
    count_passed,
    count_rendered,
    decision_for,
    forget_decision,
    gains,
)

if TYPE_CHECKING:
    from periplus.engine.fetch import AddressGuard
    from periplus.engine.wire import Wire

JUDGE: Final = "rendering"
"""The judge of verdicts on templates."""
_MAX_SCORED: Final = 1 << 20
"""Bytes of a page that are looked at for signs of an application: shells are short."""


class ScriptNeeds(Part):
    """Decides how pages are read, and learns from those that were."""

    @classmethod
    def check(cls, setup: Setup) -> None:
        """Look for a browser."""
        settings = setup.settings.some(RenderTables).render
        if settings.is_on:
            from .browser import check_browser  # loads what drives it

            proxy = setup.settings.value("wire.proxy")
            if setup.settings.value("wire.proxies") and not proxy:
                raise ConfigError(
                    "pages cannot be opened in a browser through a list of proxies (wire.proxies)",
                    hint="Name one with --proxy, or leave --render out",
                )
            check_browser(settings, proxy)

    @classmethod
    def wired(cls, setup: Setup, wire: Wire, guard: AddressGuard, clock: Clock) -> Wire | None:
        """A wire that opens pages in a browser."""
        if not setup.settings.some(RenderTables).render.is_on:
            return None
        from .wire import rendering_wire  # loads what drives it

        return rendering_wire(setup, wire, guard, clock)

    @classmethod
    def made_for(cls, setup: Setup, desk: Desk) -> list[Part]:
        """One, also where pages are only said to need scripts."""
        return [cls(desk, setup.settings.some(RenderTables).render)]

    def __init__(self, desk: Desk, settings: RenderSettings) -> None:
        self._states = desk.guard.states
        self._settings = settings
        self._events = desk.events
        desk.completing.append(completed)  # data for scripts is read also from pages that no browser opened
        if settings.is_on:
            desk.frontier.selector.how_to_render = self.render

    def render(self, url: Url, now: float) -> Render:
        """Whether a page is to be opened in a browser."""
        mode = self._settings.mode
        if mode == RenderMode.NEVER:
            return Render.NEVER
        if mode == RenderMode.ALWAYS:
            return Render.ALWAYS
        return decision_for(self._states.about(url).value(SiteRendering), _key(url), self._settings, now)

    def learn(self, processed: Sequence[Processed], now: float) -> None:
        """Learn from pages that were read."""
        for answer, page, _ in processed:
            outcome = answer.outcome
            if page is None or not isinstance(outcome, Fetched) or outcome.task.purpose is not Purpose.PAGE:
                continue
            if outcome.rendering is not None:
                self._learn_rendered(outcome, page, now)
            elif outcome.task.render is Render.NEEDED:
                self._learn_grown(page.url)
            elif len(page.text) < LONGEST_SHELL or len(page.links) < FEWEST_LINKS:
                self._learn_plain(outcome, page, now)

    def _learn_rendered(self, outcome: Fetched, page: ParsedPage, now: float) -> None:
        rendering = outcome.rendering
        if rendering is None or outcome.task.render is not Render.TEST or rendering.reason == UNAVAILABLE:
            return
        links = len(page.links.to_others())
        has_gained = rendering.is_rendered and gains(
            rendering.plain_characters, rendering.plain_links, len(page.text), links
        )
        test = self._changing(page.url)
        if count_rendered(test, has_gained=has_gained, settings=self._settings, now=now):
            evidence = (
                f"{test.gained} of {test.rendered} pages gained by their scripts",
                f"{page.url}: {rendering.plain_characters} characters became {len(page.text)}",
            )
            self._record(page.url, test.decision, test.gained / test.rendered, evidence, now)

    def _learn_grown(self, url: Url) -> None:
        """Have a template that needs scripts tested again after one of its pages could be read without them."""
        known = self._states.about(url).value(SiteRendering)
        test = None if known is None else known.of(_key(url))
        if test is not None and test.decision is TemplateDecision.NEEDED:
            forget_decision(self._changing(url))

    def _learn_plain(self, outcome: Fetched, page: ParsedPage, now: float) -> None:
        """Count a page that seems to need scripts and was read without them."""
        if outcome.task.render is not Render.NEVER:
            return
        codings = ",".join(Headers(outcome.headers).all("content-encoding"))
        body, _ = decode_body(outcome.body, codings, max_size=_MAX_SCORED)
        need = script_need(page, body.decode("latin-1"))
        if not need.is_needed:
            return
        if self._settings.is_on:
            count_passed(self._changing(page.url), self._settings.tests)
        elif count_flagged(self._changing(page.url)):
            self._record(page.url, TemplateDecision.NEEDED, min(need.score / 6, 1.0), (page.url, *need.signs), now)

    def _changing(self, url: Url) -> TemplateTest:
        state = self._states.changing(url)
        return (state.value(SiteRendering) or state.keep(SiteRendering())).changing(_key(url))

    def _record(
        self, url: Url, decision: TemplateDecision, score: float, evidence: tuple[str, ...], now: float
    ) -> None:
        subject = _subject(site_of(url), url)
        self._events.record([SubjectJudged(subject, "template", JUDGE, decision.value, round(score, 3), evidence, now)])


def _key(url: Url) -> int:
    return key_of(template_of(url))


def _subject(site: Site, url: Url) -> str:
    """The name of a template among those of all sites."""
    return f"{site}{template_of(url)}"
