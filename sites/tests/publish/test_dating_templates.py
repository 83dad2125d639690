"""What all or most pages gain or lose at once moves no date, and what single pages gain in the same scan does."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from tests.published.manual_site import END, Manual, sentence

from periplus_sites.ledger import Ledger

PAGES = 500
LINKED = (
    "<div><p>News: <a href='https://one.example.net/'>first</a>, <a href='/news.html'>second</a> and"
    " <a href='https://two.example.net/a'>a third thing</a>.</p></div>"
)


def _at_end(manual: Manual) -> None:
    text = "<p>Our annual conference takes place in Lisbon this spring; tickets are on sale now.</p>"
    manual.frame = lambda _, html: html.replace(END, text + END)


def _at_top(manual: Manual) -> None:
    manual.frame = lambda _, html: html.replace("<body>", f"<body>{LINKED}")


def _reworded(manual: Manual) -> None:
    manual.foot = "<div><p>Copyright of the authors of this book. <a href='/imprint.html'>Imprint</a></p></div>"


def _removed(manual: Manual) -> None:
    manual.foot = ""


def _inside_the_text(manual: Manual) -> None:
    manual.frame = lambda _, html: html.replace("</h1>", "</h1><p>This edition is out of date, see the new one.</p>")


def _with_the_name_of_the_page(manual: Manual) -> None:
    manual.frame = lambda number, html: html.replace(
        END, f"<div class='here'><p>You are reading chapter {sentence(random.Random(number), 4)}</p></div>{END}"
    )


def _in_the_title(manual: Manual) -> None:
    manual.frame = lambda _, html: html.replace("</title>", " at Example</title>")


@pytest.mark.proof
@pytest.mark.parametrize(
    "change",
    [_at_end, _at_top, _reworded, _removed, _inside_the_text, _with_the_name_of_the_page, _in_the_title],
)
def test_only_edited_pages_get_a_date_when_the_template_changes(
    tmp_path: Path, change: Callable[[Manual], None]
) -> None:
    manual = Manual(tmp_path, PAGES)
    manual.scan()
    before = manual.dates()
    change(manual)
    edited = _edit(manual)
    done = manual.scan()
    after = manual.dates()
    assert {number for number in after if after[number] != before[number]} == edited
    assert done.scan.changed == 12


def _edit(manual: Manual) -> set[int]:
    """Four sentences added, four replaced, and four sections added, in short pages and long ones."""
    edited = {17, 18, 19, 180, 181, 182, 190, 195, 199, 260, 399, 450}
    for step, number in enumerate(sorted(edited)):
        chosen = random.Random(f"edit {number}")
        text = manual.texts[number]
        first, last = re.search(r"<p>[^.]*\.", text), text.rindex("</p>") + len("</p>")
        assert first is not None
        if step % 3 == 0:
            text = f"{text[: first.end()]} {sentence(chosen, 9)}{text[first.end() :]}"
        elif step % 3 == 1:
            text = f"{text[: first.start()]}<p>{sentence(chosen, 8)}{text[first.end() :]}"
        else:
            text = f"{text[:last]}<h2>{sentence(chosen, 3)}</h2><p>{sentence(chosen, 80)}</p>{text[last:]}"
        manual.texts[number] = text
    return edited


def test_a_template_of_some_pages_moves_no_date(tmp_path: Path) -> None:
    manual = Manual(tmp_path, 400)
    is_guide = {number: number % 10 == 0 for number in range(400)}

    def guide(number: int, html: str) -> str:
        return html.replace("<body>", "<body><div class='guide'>") if is_guide[number] else html

    manual.frame = guide
    manual.scan()
    before = manual.dates()
    manual.frame = lambda number, html: guide(number, html).replace(END, LINKED + END) if is_guide[number] else html
    assert manual.scan().scan.changed == 0
    assert manual.dates() == before


@pytest.mark.proof
def test_the_same_sentence_on_some_pages_of_many_is_a_change(tmp_path: Path) -> None:
    manual = Manual(tmp_path, 400)
    manual.scan()
    for number in range(40, 70):
        manual.texts[number] += "<p>Never do so before the values have been checked by somebody else.</p>"
    assert manual.scan().scan.changed == 30


@pytest.mark.proof
def test_a_nightly_build_with_its_date_and_new_assets_moves_no_date(tmp_path: Path) -> None:
    manual = Manual(tmp_path, 1_000)
    for night in range(5):
        asset = random.Random(night).randbytes(4).hex()
        manual.frame = lambda _, html, night=night, asset=asset: html.replace(
            "<body>",
            f"<body><script src='/app.{asset}.js'></script><img src='/logo-{asset}.svg'>"
            f"<a href='/print-{asset}.css'>Print</a>",
        ).replace(END, f"<div class='built'>Built in the night of day {night} of this release</div>{END}")  # type: ignore[misc]
        before = manual.dates()
        done = manual.scan()
        if night:
            assert done.scan.changed == 0
            assert manual.dates() == before


def test_words_in_another_order_are_a_change(tmp_path: Path) -> None:
    manual = Manual(tmp_path, 10)
    manual.texts[3] = "<p>First turn it off. Then open the door.</p>"
    manual.scan()
    manual.texts[3] = "<p>First open the door. Then turn it off.</p>"
    assert manual.scan().scan.changed == 1


def test_a_ledger_without_counted_words_is_read_again(tmp_path: Path) -> None:
    manual = Manual(tmp_path, 40)
    manual.scan()
    ledger = manual.publisher.ledger
    ledger.db.execute("pragma user_version = 3")
    rows = ledger.db.execute("select id, content from resources").fetchall()
    for number, content in rows:
        # as form 3 kept it: raw and other digests, heading and sketch, blocks, and a digest of marks
        raw, digests, _, blocks, *_ = msgspec.msgpack.decode(content)
        old = msgspec.msgpack.encode([raw, digests, b"\x01" * 521, blocks, 77])
        ledger.db.execute("update resources set content = ? where id = ?", (old, number))
    Ledger(ledger.path).close()
    before = manual.dates()
    manual.now -= 86_460.0  # files with the same times
    assert manual.scan().scan.changed == 0
    _at_end(manual)
    assert manual.scan().scan.changed == 0
    assert manual.dates() == before
