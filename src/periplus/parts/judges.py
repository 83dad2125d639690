"""All judges of a crawl together: what a machine hands them, and when."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from periplus.engine.frontier import SiteRecords
from periplus.model import (
    BROWSER_PROBE,
    SOFT_404,
    EventSink,
    FetchOutcome,
    Page,
    Probe,
    Purpose,
    Reading,
    Redirected,
    Source,
    Url,
)
from periplus.parts.absence.part import AbsenceJudge
from periplus.parts.absence.settings import AbsenceSettings
from periplus.parts.cloaking.part import CRAWLER_PROBE, CloakingJudge, ComparisonState
from periplus.parts.cloaking.settings import CloakingSettings, RedirectionSettings
from periplus.parts.mirrors.settings import MirrorSettings
from periplus.store import State

TakeProbe = Callable[[FetchOutcome, Page | None, float], None]


class JudgeSettings(Struct, frozen=True):
    """The settings of all judges. `suffixes` are further public suffixes, as in the scope."""

    absence: AbsenceSettings = AbsenceSettings()
    cloaking: CloakingSettings = CloakingSettings()
    redirections: RedirectionSettings = RedirectionSettings()
    mirrors: MirrorSettings = MirrorSettings()
    suffixes: tuple[str, ...] = ()


class Judges:
    """The judges of one machine. `saved` is what was committed of comparisons."""

    def __init__(
        self,
        state: State,
        records: SiteRecords,
        settings: JudgeSettings,
        *,
        events: EventSink,
        queue: Callable[[Sequence[Probe], float], None],
        worth: Callable[[Sequence[Url]], list[float]],
        saved: ComparisonState | None = None,
    ) -> None:
        self._absence = AbsenceJudge(state, records, settings.absence, events=events, queue=queue)
        self._cloaking = CloakingJudge(
            state, records, settings.cloaking, settings.redirections, events=events, queue=queue, worth=worth,
            suffixes=settings.suffixes, saved=saved,
        )  # fmt: skip
        self.marked = self._absence.marked
        self.takers: dict[str, TakeProbe] = {
            SOFT_404: self._absence.take_probe,
            BROWSER_PROBE: self._cloaking.take_browser,
            CRAWLER_PROBE: self._cloaking.take_crawler,
        }

    def answered(
        self, outcome: FetchOutcome, page: Page | None, reading: Reading | None, pages: int, now: float
    ) -> None:
        """Judge an answer. `pages` is the number of pages of the crawl so far."""
        if page is not None and reading is not None:
            self._absence.page_read(page, reading, now)
            is_result = outcome.task.source is Source.FORM  # a query is sent once: forms have an interval of their own
            self._cloaking.page_read(page, pages, now, is_comparable=not is_result)
        elif isinstance(outcome, Redirected) and outcome.task.purpose is Purpose.PAGE:
            self._absence.redirected(outcome, now)

    @property
    def state(self) -> ComparisonState:
        """The state of comparisons to commit."""
        return self._cloaking.state
