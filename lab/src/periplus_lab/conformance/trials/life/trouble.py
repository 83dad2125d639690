"""A crawl in trouble that passes: no room on the disk, no network, no names, a clock that jumps."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

from ....hostile import Reset, Script
from ...cases import Case, CrawlerRun, Evidence, Failure, Trial, trial
from ...enclosure import limit_disk, lose_address, lose_network
from ...sites import PUBLIC, Web
from .living_site import LivingSite

_MEGABYTE = 1 << 20
_PADDING = 150_000
_AWAY = 4.0
"""Seconds that something is gone: longer than a request takes, shorter than a patient crawler waits to try again."""
_TRANSIENT = "RFC 9309 section 2.3.1.4; RFC 9110 section 9.2.2 (safe requests can be repeated)"


def _noise(target: str) -> str:
    """Text that no compression makes much shorter."""
    return f"<p>{base64.b64encode(Random(target).randbytes(_PADDING)).decode()}</p>"  # noqa: S311 - text, not a secret


@trial("life")
def full_disk(web: Web) -> Trial:
    """The disk is full before the crawl is done; then there is room again."""
    living = LivingSite(web, 14, padding=_noise)

    def judge(evidence: Evidence) -> Failure | None:
        end = evidence.ends[0]
        if end.was_stopped:
            return Failure("did not end within its time with a full disk")
        if end.code == 0 and end.room < _PADDING:
            return Failure("ended with the exit code 0 and a full disk, as if all had been written")
        return None

    return Trial(
        seed=living.site.url(),
        disk=2 * _MEGABYTE,
        seconds=90,
        runs=(CrawlerRun(), CrawlerRun(disk=64 * _MEGABYTE)),
        cases=(
            Case(
                name="full-disk-is-said",
                says="A crawl whose disk is full ends with an exit code that is not 0.",
                source="POSIX.1-2017, XSH write() (ENOSPC) and XCU 2.8.2 (exit status)",
                judge=judge,
            ),
            Case(
                name="goes-on-when-there-is-room",
                says="When a full disk has room again the same command goes on, and no page is lost.",
                source="Candea and Fox, Crash-Only Software, HotOS 2003",
                judge=living.all_arrived(),
            ),
        ),
    )


@trial("life")
def read_only_disk(web: Web) -> Trial:
    """A crawl goes on in a folder that cannot be written to any more, as after an error of the disk."""
    living = LivingSite(web, 8)

    def judge(evidence: Evidence) -> Failure | None:
        end = evidence.ends[1]
        if not any(evidence.folder.iterdir()):
            return None
        if end.was_stopped:
            return Failure("did not end within its time with a folder that cannot be written to")
        return None if end.code else Failure("ended with the exit code 0, though nothing could be written")

    return Trial(
        seed=living.site.url(),
        disk=64 * _MEGABYTE,
        runs=(CrawlerRun(kill_when=living.has_asked_for(6)), CrawlerRun(is_read_only=True)),
        cases=(
            Case(
                name="read-only-folder-is-said",
                says="A crawl that cannot write what it fetches ends with an exit code that is not 0.",
                source="POSIX.1-2017, XSH open() (EROFS) and XCU 2.8.2 (exit status)",
                judge=judge,
            ),
        ),
    )


def _disturbed(
    web: Web, name: str, says: str, disturb: Callable[[LivingSite], Callable[[], None]], *, source: str = _TRANSIENT
) -> Trial:
    """Something is gone for a while; the same command once more has what is still missing."""
    living = LivingSite(web, 10)
    return Trial(
        seed=living.site.url(),
        needs_names=True,
        seconds=120,
        runs=(CrawlerRun(disturb_after=6, disturb=disturb(living)), CrawlerRun()),
        cases=(Case(name=name, says=says, source=source, judge=living.all_arrived()),),
    )


@trial("life")
def no_network(web: Web) -> Trial:
    """The network is gone for some seconds."""
    return _disturbed(
        web,
        "network-away",
        "When the network was away for some seconds no page is lost, at the latest when the same command is given"
        " again.",
        lambda _living: lambda: lose_network(_AWAY),
    )


@trial("life")
def no_host(web: Web) -> Trial:
    """The address of the site is out of reach for some seconds."""
    return _disturbed(
        web,
        "host-away",
        "When a host was out of reach for some seconds no page is lost, at the latest when the same command is given"
        " again.",
        lambda _living: lambda: lose_address(f"{PUBLIC}.0.1", _AWAY),
    )


@trial("life")
def resets(web: Web) -> Trial:
    """The server cuts every connection for some seconds, as while it starts again."""

    def disturb(living: LivingSite) -> Callable[[], None]:
        def cut() -> None:
            whole = living.interrupt
            living.interrupt = lambda _request: Script(0, iter([Reset()]))
            time.sleep(_AWAY)
            living.interrupt = whole

        return cut

    return _disturbed(
        web,
        "server-away",
        "When a server cut connections for some seconds no page is lost, at the latest when the same command is given"
        " again.",
        disturb,
        source="RFC 9112 section 9.3.1 (a request that is cut off can be retried)",
    )


@trial("life")
def no_names(web: Web) -> Trial:
    """The name server leaves the first questions without an answer."""
    living = LivingSite(web, 4)
    first: list[float] = []
    is_back: list[bool] = []

    def lookup() -> str | None:
        first.append(time.monotonic())
        return f"{PUBLIC}.0.1" if is_back or time.monotonic() - first[0] > 2 * _AWAY else None

    web.addresses[living.site.host] = lookup
    return Trial(
        seed=living.site.url(),
        needs_names=True,
        seconds=120,
        runs=(CrawlerRun(), CrawlerRun(before=lambda: is_back.append(True))),
        cases=(
            Case(
                name="names-away",
                says="When a name server was silent for some seconds no page is lost, at the latest when the same"
                " command is given again.",
                source="RFC 1035 section 7.2 (a question without an answer is a temporary failure)",
                judge=living.all_arrived(),
                wants_seed=False,
            ),
        ),
    )


_CLOCK = Path("/mnt/clock")
"""In the enclosure alone: how far the crawler's clock is off."""
_FAKETIME = [
    found
    for pattern in ("lib/*/faketime", "lib*/faketime", "local/lib*/faketime")
    for found in Path("/usr").glob(f"{pattern}/libfaketimeMT.so.1")
]
_NO_FAKETIME = "a clock that jumps needs libfaketime: apt install libfaketime"


def _set_clock(offset: str) -> None:
    _CLOCK.write_text(offset)


def _jumping(web: Web, name: str, says: str, jump: str) -> Trial:
    living = LivingSite(web, 10)

    def begin() -> None:
        limit_disk(_CLOCK.parent, _MEGABYTE)
        _set_clock("+0")

    def judge_end(evidence: Evidence) -> Failure | None:
        return Failure("did not end") if evidence.ends[0].was_stopped else None

    return Trial(
        seed=living.site.url(),
        needs_names=True,
        seconds=90,
        lacking="" if _FAKETIME else _NO_FAKETIME,
        environment={
            "LD_PRELOAD": str(_FAKETIME[0]) if _FAKETIME else "",
            "FAKETIME_TIMESTAMP_FILE": str(_CLOCK),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "DONT_FAKE_MONOTONIC": "1",
        },
        runs=(CrawlerRun(before=begin, disturb_after=8, disturb=lambda: _set_clock(jump)),),
        cases=(
            Case(
                name=name,
                says=says,
                source="POSIX.1-2017, XSH clock_settime() (CLOCK_REALTIME can be set, CLOCK_MONOTONIC cannot)",
                judge=living.all_arrived(judge_end),
            ),
        ),
    )


@trial("life")
def clock_forwards(web: Web) -> Trial:
    """The clock is a day ahead all at once."""
    return _jumping(
        web, "clock-jumps-forwards", "A clock that jumps a day forwards neither ends a crawl nor loses a page.", "+1d"
    )


@trial("life")
def clock_backwards(web: Web) -> Trial:
    """The clock is an hour behind all at once."""
    return _jumping(
        web, "clock-jumps-backwards", "A clock that jumps an hour backwards does not stop a crawl for an hour.", "-1h"
    )
