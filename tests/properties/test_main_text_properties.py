"""Both scanners choose the same main text on pages that have much to choose from; all else: `test_scanners_agree`."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.hypothesis_depth import examples

from periplus.content.scan import python
from periplus.content.scan.hints import WORDS
from periplus.content.scan.tags import FLAGS, PUSH

native = pytest.importorskip("periplus.content.scan._native", reason="the native scanner is not built")

URL = "http://docs.example.org/page"
_NAMES = [word.strip("^$=") for words in WORDS.values() for word in words.split()]
_TAGS = [name for name, flags in FLAGS.items() if flags & PUSH and name not in ("svg", "math")]
_SENTENCES = (
    "Short.",
    "About as short as prose can be.",
    "A sentence that is long enough to be a part of an introduction, or a paragraph of its own. ",
    "A longer text. It has two sentences, and that is as good as three, if they are long enough to be read. " * 4,
    "日本語の文章は文字数が少なくても内容が多い。",
    "Предложение на русском языке, в котором достаточно букв.",
)
_ATTRIBUTES = (
    *(" hidden", " style='display:none'", " style='a:b;Visibility : hidden'", " role=banner", " role=DIALOG"),
    *(" aria-hidden=true", " itemprop='description name'", " itemprop=author", " class=post", " class=x id=comments"),
)

names = st.lists(
    st.one_of(
        st.sampled_from(_NAMES),
        st.sampled_from(_NAMES).map(str.capitalize),
        st.sampled_from(_NAMES).map(lambda name: f"{name[:3]}-{name[3:]}"),
        st.sampled_from(_NAMES).map(lambda name: f"{name[:4]}_{name[4:].upper()}"),
        st.sampled_from(["x", "main", "Main", " ", "-", "_", "1", "\u00e9", "section"]),
    ),
    min_size=1,
    max_size=4,
)
attributes = st.one_of(
    st.just(""),
    st.tuples(st.sampled_from(["class", "id"]), names.map("".join)).map(lambda pair: f' {pair[0]}="{pair[1]}"'),
    st.sampled_from(_ATTRIBUTES),
)
texts = st.sampled_from(_SENTENCES)
leaves = st.one_of(texts, texts.map(lambda text: f"<a href=x>{text}</a>"))


def element(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Elements around others."""
    return st.builds(
        lambda tag, written, inside: f"<{tag}{written}>{''.join(inside)}</{tag}>",
        st.sampled_from(_TAGS),
        attributes,
        st.lists(children, min_size=1, max_size=5),
    )


pages = st.lists(st.recursive(leaves, element, max_leaves=40), min_size=1, max_size=6).map("".join)


@settings(max_examples=examples(15))
@given(pages)
def test_scanners_choose_the_same(page: str) -> None:
    """Whatever the elements are called, and however they are nested."""
    html = page.encode()
    assert native.scan(html, URL, False, False, False).main == python.scan(html, URL, False, False, False).main


@settings(max_examples=examples(15))
@given(pages)
def test_main_text_is_part_of_the_text(page: str) -> None:
    """A page with text that is not in an aside or a footer has a main text, and that is not longer than the text."""
    columns = python.scan(page.encode(), URL, False, False, False)
    assert len(columns.main) <= len(columns.text)
    assert python.scan(f"<div>Short.</div>{page}".encode(), URL, False, False, False).main
