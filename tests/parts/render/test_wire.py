"""Which answers are opened in a browser, what becomes of them, and what is learnt of their templates."""

from __future__ import annotations

import gzip
from types import SimpleNamespace
from typing import Any

from tests.each_case import each_case

from periplus.content import RawPage, read_pages
from periplus.engine.inputs import FetchAnswer
from periplus.engine.pipeline import Processed
from periplus.model import Event, Fetched, FetchTask, Lane, Purpose, Render, Rendering, SubjectJudged, Url
from periplus.parts.render.pages import completed
from periplus.parts.render.part import ScriptNeeds
from periplus.parts.render.pool import Rendered
from periplus.parts.render.settings import UNAVAILABLE, RenderSettings
from periplus.parts.render.wire import may_be_rendered, plain_page, with_document
from periplus.policy.filters import Chain
from periplus.urls import site_of

HTML = (("Content-Type", "text/html"),)
SHELL = b'<title>App</title><div id="root"></div><script src="/a.js"></script>'
TEXT = b"<p>" + b"The captain wrote it all down in the evening. " * 20
MAX = 1 << 20
WHEN_NEEDED = RenderSettings(mode="when-needed")


def answer(body: bytes = SHELL, path: str = "/item/1", render: Render = Render.TEST, **facts: Any) -> Fetched:
    url = Url(f"https://app.example{path}")
    purpose = facts.pop("purpose", Purpose.PAGE)
    task = FetchTask(url, site_of(url), purpose, Lane.DISCOVERY, 0.0, render=render)
    given: dict[str, Any] = {"status": 200, "headers": HTML, "started_at": 5.0, "duration": 0.5, **facts}
    return Fetched(task, body=body, **given)


@each_case(
    ("outcome", "expected"),
    [
        (answer(), True),
        (answer(render=Render.NEVER), False),
        (answer(status=404), False),
        (answer(purpose=Purpose.SITEMAP), False),
        (answer(b""), False),
        (answer(is_truncated=True), False),
    ],
)
def test_only_whole_pages_are_opened(outcome: Fetched, expected: bool) -> None:
    """Not errors, not files, nothing that was cut off, and nothing whose task does not allow it."""
    assert may_be_rendered(outcome) is expected


@each_case(
    ("body", "render", "expected"),
    [
        (SHELL, Render.TEST, True),
        (SHELL, Render.NEEDED, True),
        (SHELL + TEXT, Render.TEST, False),
        (SHELL + b'<p>A menu <a href="/1">1</a><a href="/2">2</a><a href="/3">3</a>', Render.TEST, True),
        (SHELL.replace(b"root", b"side"), Render.TEST, False),
        (SHELL.replace(b"root", b"side"), Render.NEEDED, True),
        (TEXT, Render.NEEDED, False),
        (TEXT, Render.ALWAYS, True),
    ],
)
def test_pages_are_opened_as_far_as_their_template_is_known(body: bytes, render: Render, expected: bool) -> None:
    """What is known to need scripts is opened with fewer signs."""
    plain = plain_page(answer(body, render=render), MAX)
    assert plain is not None
    assert plain.is_rendered is expected


def test_bodies_are_decoded_for_the_browser() -> None:
    """The browser gets the document without its content coding; what is not HTML is not opened."""
    packed = answer(gzip.compress(SHELL), headers=(*HTML, ("Content-Encoding", "gzip")))
    plain = plain_page(packed, MAX)
    assert plain is not None
    assert plain.body == SHELL
    assert plain_page(answer(b"hello", headers=(("Content-Type", "text/plain"),)), MAX) is None
    assert plain_page(answer(b"%PDF-1.7 \x00\x01", headers=()), MAX) is None


def test_the_document_takes_the_place_of_the_body() -> None:
    """Headers, times and address stay those of the server; without a document nothing is replaced."""
    outcome = answer(ip="192.0.2.1")
    plain = plain_page(outcome, MAX)
    assert plain is not None
    shown = with_document(outcome, plain, Rendered(0, "<p>é</p>", "", 3, 2, 999, 1.5))
    assert (shown.body, shown.is_rendered) == ("<p>é</p>".encode(), True)
    assert (shown.headers, shown.started_at, shown.duration, shown.ip) == (HTML, 5.0, 0.5, "192.0.2.1")
    assert shown.rendering is not None
    assert (shown.rendering.document, shown.rendering.same_site, shown.rendering.plain_characters) == (SHELL, 2, 0)
    lost = with_document(outcome, plain, Rendered(0, None, "render-crashed", 0, 0, 0, 9.0))
    assert (lost.body, lost.is_rendered) == (SHELL, False)


class Learner:
    """What is learnt from pages, and the verdicts on it."""

    def __init__(self, settings: RenderSettings) -> None:
        self.events: list[Event] = []
        frontier = SimpleNamespace(selector=SimpleNamespace())
        desk = SimpleNamespace(guard=Chain([]), events=self, frontier=frontier, completing=[])
        self.needs = ScriptNeeds(desk, settings)  # type: ignore[arg-type]

    def record(self, events: Any) -> None:
        self.events += events

    def learn(self, outcome: Fetched, now: float = 0.0) -> None:
        raw = RawPage(outcome.body, outcome.task.url, "text/html; charset=utf-8")
        page = completed(read_pages([raw])[0], raw, outcome)
        self.needs.learn([Processed(FetchAnswer(outcome), page, None)], now)

    def verdicts(self) -> list[tuple[str, str]]:
        return [(event.subject, event.verdict) for event in self.events if isinstance(event, SubjectJudged)]


def test_a_template_is_tested_decided_and_tested_again() -> None:
    """Three pages that gain decide; one that can be read without scripts opens the question again."""
    learner = Learner(WHEN_NEEDED)
    url = Url("https://app.example/item/9")
    for number in range(3):
        assert learner.needs.render(url, 0.0) is Render.TEST
        learner.learn(answer(TEXT, f"/item/{number}", rendering=Rendering(is_rendered=True)))
    assert learner.needs.render(url, 0.0) is Render.NEEDED
    assert learner.needs.render(Url("https://app.example/other"), 0.0) is Render.TEST
    assert learner.verdicts() == [("app.example/item/#", "needs-scripts")]
    learner.learn(answer(TEXT, "/item/4", Render.NEEDED))
    assert learner.needs.render(url, 0.0) is Render.TEST


def test_pages_that_fail_in_the_browser_do_not_gain() -> None:
    """A template whose pages crash is not opened again."""
    learner = Learner(WHEN_NEEDED)
    for number in range(3):
        failed = Rendering(is_rendered=False, reason="render-crashed")
        learner.learn(answer(SHELL, f"/item/{number}", rendering=failed))
    assert learner.needs.render(Url("https://app.example/item/9"), 0.0) is Render.NEVER
    assert learner.verdicts() == [("app.example/item/#", "needs-no-scripts")]


def test_a_template_that_needs_no_scripts_is_looked_at_again() -> None:
    """After 30 pages that seem to need them, and after 300: three early looks are not the last word."""
    learner = Learner(WHEN_NEEDED)
    url, is_tested = Url("https://app.example/item/9"), []
    for _ in range(2):
        for number in range(3):
            learner.learn(answer(SHELL, f"/item/{number}", rendering=Rendering(is_rendered=True)))
        passed = 0
        while learner.needs.render(url, 0.0) is Render.NEVER:
            learner.learn(answer(SHELL, f"/item/{passed}", Render.NEVER))
            passed += 1
        is_tested.append(passed)
    assert is_tested == [30, 270]


def test_a_browser_that_does_not_start_decides_nothing() -> None:
    """Its pages were not looked at, and are the next time."""
    learner = Learner(WHEN_NEEDED)
    for number in range(9):
        lost = Rendering(is_rendered=False, reason=UNAVAILABLE)
        learner.learn(answer(SHELL, f"/item/{number}", rendering=lost))
    assert learner.needs.render(Url("https://app.example/item/9"), 0.0) is Render.TEST


def test_without_a_browser_templates_are_named_once() -> None:
    """The first page of a template that seems to need scripts; ordinary pages leave no trace."""
    learner = Learner(RenderSettings())
    for path in ("/item/1", "/item/2", "/note/1"):
        learner.learn(answer(SHELL, path, Render.NEVER))
    learner.learn(answer(TEXT, "/page/1", Render.NEVER))
    assert learner.verdicts() == [("app.example/item/#", "needs-scripts"), ("app.example/note/#", "needs-scripts")]
    assert learner.needs.render(Url("https://app.example/item/9"), 0.0) is Render.NEVER
