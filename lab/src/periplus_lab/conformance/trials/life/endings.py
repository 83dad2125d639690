"""A crawl that is ended, and begun again with the same command."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from signal import Signals

from ....hostile import Action, Script, Wait
from ....hostile.script import TEXT
from ....http import Answer, Request, write_head
from ...cases import Case, CrawlerRun, Evidence, Failure, Judge, Trial, trial
from ...sites import ALLOW_ALL, Reply, Web
from .living_site import LivingSite

_CRASH_ONLY = "Candea and Fox, Crash-Only Software, HotOS 2003"
_IRLBOT = "Heydon and Najork, Mercator, World Wide Web 1999, section 4 (checkpoints)"
_JUST_BEFORE = 4
"""Pages before a kill that may not have been written down yet."""
_LONGEST_END = 30.0
"""Seconds that a crawler may take to end when it is asked to: many times what a request takes."""


def _little_repeated(runs: int) -> Judge:
    """At most a third of what arrived before each kill, but for the last pages, is sent once more."""

    def judge(evidence: Evidence) -> Failure | None:
        for number in range(runs):
            before = [visit for visit in evidence.pages() if visit in evidence.run(number)]
            done = {visit.url for visit in before[:-_JUST_BEFORE] if visit.status == 200 and visit.is_complete}
            after = [visit for later in range(number + 1, len(evidence.starts)) for visit in evidence.run(later)]
            again = tuple(visit for visit in after if visit.url in done and visit.status == 200)
            if len(again) > len(done) / 3 + 1:
                return Failure(f"requested {len(again)} pages again of {len(done)} that it had before the kill", again)
        return None

    return judge


@trial("life")
def killed(web: Web) -> Trial:
    """Killed in the middle."""
    living = LivingSite(web, 12)
    return Trial(
        seed=living.site.url(),
        runs=(CrawlerRun(kill_when=living.has_asked_for(14)), CrawlerRun()),
        cases=(
            Case(
                name="nothing-lost",
                says="After SIGKILL the same command goes on, and no page is lost.",
                source=_CRASH_ONLY,
                judge=living.all_arrived(),
            ),
            Case(
                name="little-repeated",
                says="After SIGKILL the same command goes on where it stopped: what it has is not fetched again.",
                source=_IRLBOT,
                judge=_little_repeated(1),
            ),
        ),
    )


def _dripping() -> Iterator[Action]:
    """An answer that is still under way when the crawler is killed."""
    yield write_head(200, (TEXT, ("Content-Length", "10000")))
    while True:
        yield Wait(0.5)
        yield b"#\n"


@trial("life")
def three_kills(web: Web) -> Trial:
    """Killed while it waits for robots.txt, while it waits for the first page, and twice more."""
    living = LivingSite(web, 10)
    site, run, robots = living.site, [0], []

    def slow(_request: Request) -> Reply | None:
        return Script(200, _dripping()) if run[0] < 2 else None

    def rules(request: Request) -> Reply:
        robots.append(request.target)
        if run[0] == 0:
            return Script(200, _dripping())
        return Answer(200, (TEXT,), f"{ALLOW_ALL}Disallow: /closed\n".encode())

    def begin(number: int) -> None:
        run[0] = number

    living.interrupt = slow
    site.answers["/robots.txt"] = rules
    return Trial(
        seed=site.url(),
        runs=(
            CrawlerRun(kill_when=lambda: bool(robots or living.asked)),
            CrawlerRun(before=lambda: begin(1), kill_when=lambda: bool(living.asked)),
            CrawlerRun(before=lambda: begin(2), kill_when=living.has_asked_for(8)),
            CrawlerRun(kill_when=living.has_asked_for(14)),
            CrawlerRun(),
        ),
        cases=(
            Case(
                name="killed-at-the-first-request",
                says="A crawl that was killed before it had anything begins with the same command.",
                source=_CRASH_ONLY,
                wants=site.urls("/0"),
            ),
            Case(
                name="killed-often",
                says="However often a crawl is killed, no page is lost.",
                source=_CRASH_ONLY,
                judge=living.all_arrived(),
            ),
            Case(
                name="little-repeated-after-several-kills",
                says="However often a crawl is killed, what it has is not fetched again.",
                source=_IRLBOT,
                judge=_little_repeated(4),
            ),
        ),
    )


def _signalled(web: Web, signal: Signals, word: str) -> Trial:
    living = LivingSite(web, 12)

    def judge(evidence: Evidence) -> Failure | None:
        end = evidence.ends[0]
        if end.was_stopped or end.took > _LONGEST_END:
            return Failure(f"did not end within {_LONGEST_END:.0f} s of {signal.name}")
        return None

    return Trial(
        seed=living.site.url(),
        seconds=3 * _LONGEST_END,
        runs=(CrawlerRun(kill_when=living.has_asked_for(8), signal=signal), CrawlerRun()),
        cases=(
            Case(
                name=f"ends-when-{word}",
                says=f"{signal.name} ends a crawl, in the time of a few requests.",
                source="POSIX.1-2017, XBD <signal.h>",
                judge=judge,
            ),
            Case(
                name=f"goes-on-after-being-{word}",
                says=f"After {signal.name} the same command goes on, and no page is lost.",
                source=_IRLBOT,
                judge=living.all_arrived(),
            ),
        ),
    )


@trial("life")
def interrupted(web: Web) -> Trial:
    """Interrupted, as with Ctrl-C."""
    return _signalled(web, Signals.SIGINT, "interrupted")


@trial("life")
def terminated(web: Web) -> Trial:
    """Asked to end, as by a shutdown of the machine."""
    return _signalled(web, Signals.SIGTERM, "terminated")


@trial("life")
def finished(web: Web) -> Trial:
    """A crawl without trouble, and the same command again."""
    living = LivingSite(web, 6)
    here: set[str] = set()

    def look() -> None:
        here.update(path.name for path in Path.cwd().iterdir())

    def judge_code(evidence: Evidence) -> Failure | None:
        end = evidence.ends[0]
        if end.was_stopped:
            return Failure("did not end")
        return Failure(f"ended with {end.code}: {end.output[-300:].strip()}") if end.code else None

    def judge_again(evidence: Evidence) -> Failure | None:
        first = {visit.url for visit in evidence.run(0)}
        again = tuple(
            visit for visit in evidence.run(1)
            if visit.url in first and visit.url in living.urls and visit.status == 200 and visit.method == "GET"
        )  # fmt: skip
        if len(again) > len(living.urls) / 3:
            return Failure(f"fetched {len(again)} of {len(living.urls)} pages again, without a condition", again)
        return None

    def judge_files(evidence: Evidence) -> Failure | None:
        del evidence
        new = sorted({path.name for path in Path.cwd().iterdir()} - here - {"__pycache__"})
        new = [name for name in new if not name.startswith(".")]
        return Failure(f"wrote {new[0]} into the working folder") if new else None

    return Trial(
        seed=living.site.url(),
        runs=(CrawlerRun(before=look), CrawlerRun()),
        cases=(
            Case(
                name="exit-code-of-a-good-crawl",
                says="A crawl that went well ends by itself, with the exit code 0.",
                source="POSIX.1-2017, XCU 2.8.2 (exit status)",
                wants=living.urls,
                judge=judge_code,
            ),
            Case(
                name="finished-stays-finished",
                says="The same command after a crawl that is finished does not fetch everything again,"
                " unless with conditional requests.",
                source="RFC 9110 section 13.1; Mercator, section 4",
                wants=living.urls,
                judge=judge_again,
            ),
            Case(
                name="files-in-its-folder",
                says="A crawl writes to the folder that it was given, not into the working folder.",
                source="POSIX.1-2017, XBD 12.2 (utilities write where they are told to)",
                judge=judge_files,
            ),
        ),
    )


@trial("life")
def unreachable_seed(web: Web) -> Trial:
    """The name of the seed does not exist."""
    site = web.site()
    web.addresses[site.host] = ""

    def judge(evidence: Evidence) -> Failure | None:
        end = evidence.ends[0]
        if site.host not in evidence.lookups:
            return Failure(f"never looked up {site.host}; exit code {end.code}: {end.output[-300:].strip()}")
        if end.was_stopped:
            return Failure("did not end")
        return None if end.code else Failure("ended with the exit code 0, as if the crawl had gone well")

    return Trial(
        seed=site.url(),
        needs_names=True,
        seconds=120,
        cases=(
            Case(
                name="unreachable-seed-is-an-error",
                says="A crawl whose only seed cannot be reached ends with an exit code that is not 0.",
                source="POSIX.1-2017, XCU 2.8.2 (exit status)",
                judge=judge,
                wants_seed=False,
            ),
        ),
    )
