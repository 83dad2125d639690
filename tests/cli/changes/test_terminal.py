"""Changes on a terminal: colours where there are some, signs elsewhere, and nothing that a page could make it do."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console
from tests.each_case import each_case

from periplus.apps.changes import Change, ChangeKind, Detail, LinkChange, diff
from periplus.cli.changes.output import Asked, nothing_of, share_of
from periplus.cli.changes.terminal import about, passage_text, percent, print_changes
from periplus.collection.typed_values import moment_of
from periplus.model import Url, UsageError

NOW = 1_700_000_000.0


def change(kind: ChangeKind = ChangeKind.CHANGED, url: str = "http://a.test/", **facts: object) -> Change:
    return Change(Url(url), "a.test", kind, NOW, **facts)  # type: ignore[arg-type]


def shown(detail: Detail, *, is_coloured: bool) -> str:
    out = StringIO()
    console = Console(file=out, force_terminal=is_coloured, color_system="standard" if is_coloured else None, width=80)
    print_changes(console, [(change(level="major"), detail)], {ChangeKind.CHANGED: 3}, {"a.test": 3}, is_diff=True)
    return out.getvalue()


def test_marks_are_colours_or_signs() -> None:
    """Red and struck through, green; or as wdiff has it."""
    detail = Detail("T", difference=diff("It costs ten euros today.", "It costs twelve euros today."))
    assert "[-ten-] {+twelve+} euros" in shown(detail, is_coloured=False)
    coloured = shown(detail, is_coloured=True)
    assert "\x1b[9;31mten \x1b[0m" in coloured
    assert "\x1b[32mtwelve \x1b[0m" in coloured
    assert "[-" not in coloured
    assert "the newest 1 are shown" in shown(detail, is_coloured=False)


def test_a_page_cannot_command_a_terminal() -> None:
    """Control characters of texts and titles are blanks."""
    evil = "\x1b]0;owned\x07 \x9b31m"
    detail = Detail(f"new {evil}", f"old {evil}", difference=diff(f"Before {evil} it.", f"After {evil} it, twice."))
    said = shown(detail, is_coloured=False)
    assert "owned" in said
    assert not any(sign in said for sign in ("\x1b", "\x07", "\x9b"))


def test_many_places_and_long_texts_are_cut_short() -> None:
    """A few places with a few words around them."""
    words = [f"sentence number {number} which stays the same in either text." for number in range(40)]
    other = [f"{line} Changed here." if number % 4 == 0 else line for number, line in enumerate(words)]
    said = shown(Detail("T", difference=diff("\n".join(words), "\n".join(other))), is_coloured=False)
    assert "and 6 more places" in said
    (passage,) = diff(f"{'same ' * 50}old", f"{'same ' * 50}new").passages
    assert len(passage_text(passage, is_coloured=False).plain) < 100


@each_case(
    ("what", "said"),
    [
        ((change(ChangeKind.APPEARED), Detail()), "is new"),
        ((change(ChangeKind.APPEARED, is_back=True), Detail()), "is back"),
        (
            (change(ChangeKind.VANISHED, reason="redirected", target="http://b.test/"), Detail()),
            "leads to http://b.test/ now",
        ),
        ((change(ChangeKind.VANISHED, reason="http-410"), Detail()), "the server answered 410, Gone"),
        ((change(level="major"), Detail(problem="not-kept")), "major; its bytes were not kept"),
        (
            (change(), Detail("N", "O", links=LinkChange(2, 1), difference=diff("a", "a"))),
            "not the text, another title, links +2 -1",
        ),
    ],
)
def test_what_happened_in_a_few_words(what: tuple[Change, Detail], said: str) -> None:
    """Each kind has its own."""
    assert about(*what) == said


def test_shares_and_times_as_people_write_them() -> None:
    """A day, a moment, how long ago; a share or per cent."""
    assert moment_of("2023-11-14", NOW) == 1_699_920_000.0
    assert moment_of("2023-11-14T22:13:20Z", NOW) == NOW
    assert moment_of("2023-11-15T00:13:20+02:00", NOW) == NOW
    assert moment_of("2d", NOW) == NOW - 2 * 86_400
    assert moment_of(None, NOW) is None
    assert (share_of("5%"), share_of("0.05"), share_of(None)) == (0.05, 0.05, 0.0)
    assert (percent(0.004), percent(0.12), percent(1.0)) == ("under 1 %", "12 %", "100 %")
    for wrong in ("soon", "2023-13-01", "-3d", "", "9999999d", "0001-01-01T00:00+14:00", "9999-12-31T23:59-14:00"):
        with pytest.raises(UsageError):
            moment_of(wrong, NOW)
    for wrong in ("x", "-1%", "101%", "nan"):
        with pytest.raises(UsageError):
            share_of(wrong)


@each_case(
    ("kinds", "paths", "said"),
    [
        (tuple(ChangeKind), (), "nothing appeared, changed or vanished"),
        ((ChangeKind.CHANGED,), (), "nothing changed"),
        (
            (ChangeKind.VANISHED, ChangeKind.APPEARED),
            ("/docs/*",),
            "nothing appeared or vanished, of what was asked for",
        ),
    ],
)
def test_nothing_is_said_of_what_was_asked_for_alone(
    kinds: tuple[ChangeKind, ...], paths: tuple[str, ...], said: str
) -> None:
    """Who asks for one kind is not told that the others did not happen."""
    assert nothing_of(Asked(0.0, None, (), paths, kinds, 0.0, False)) == said
