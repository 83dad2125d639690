"""Pages as Markdown and as text: what the tags say, in order, and nothing that is not there."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from periplus.store.export import to_markdown, to_text

BASE = "https://example.org/dir/"

CASES = {
    "heading": ("<h2> A  <em>title</em></h2>", "## A *title*"),
    "paragraphs": ("<p>one\n two<p>three", "one two\n\nthree"),
    "text around blocks": ("before<div>in</div>after", "before\n\nin\n\nafter"),
    "link": ("<p>see <a href=../x>the <b>x</b></a>.", "see [the **x**](https://example.org/x)."),
    "link to brackets": ("<a href='/a(b)'>t</a>", "[t](https://example.org/a%28b%29)"),
    "link to nothing we know": ("<a href='javascript:1'>t</a> <a>u</a>", "t u"),
    "emphasis keeps spaces outside": ("a<b> b </b>c", "a **b** c"),
    "image": ("<img src=i.png alt='a [b]'>", "![a \\[b\\]](https://example.org/dir/i.png)"),
    "list": ("<ul><li>a<li>b</ul>", "- a\n- b"),
    "ordered list": ("<ol><li>a<li>b</ol>", "1. a\n2. b"),
    "nested list": ("<ul><li>a<ol><li>b<li>c</ol><li>d</ul>", "- a\n  1. b\n  2. c\n- d"),
    "item of paragraphs": ("<ul><li><p>a<p>b</ul>", "- a\n\n  b"),
    "quote": ("<blockquote><p>a<p>b</blockquote>", "> a\n>\n> b"),
    "code": ("<p>the <code>a_b*</code>", "the `a_b*`"),
    "code with a tick": ("<code>a`b</code>", "``a`b``"),
    "preformatted": ("<pre><code>if x:\n    y_z\n\n  *</code></pre>", "```\nif x:\n    y_z\n\n  *\n```"),
    "preformatted in an item": ("<ul><li>a<pre>x\n y</pre></ul>", "- a\n\n  ```\n  x\n   y\n  ```"),
    "fences inside": ("<pre>```\nx</pre>", "````\n```\nx\n````"),
    "table": (
        "<table><tr><th>A<th>B<tr><td>1|2<td><p>x<p>y</table>",
        "| A | B |\n|---|---|\n| 1\\|2 | x y |",
    ),
    "rule and break": ("a<br>b<hr>c", "a\nb\n\n---\n\nc"),
    "marks of the page are no marks": ("<p># 1*2*3 [x] _y_ \\ &lt;b>", "\\# 1\\*2\\*3 \\[x\\] \\_y\\_ \\\\ \\<b>"),
    "a list that is none": ("<p>- a<p>1. b<p>> c", "\\- a\n\n\\1. b\n\n\\> c"),
    "main alone": ("<nav>n</nav><main>m<aside>a</aside></main><footer>f</footer>", "m"),
    "only article": ("<p>x<article>a</article>", "a"),
    "two articles": ("<article>a</article><article>b</article>", "a\n\nb"),
    "scripts and controls": ("<script>s</script><style>t</style><p>x <button>b</button><input value=i>", "x"),
    "empty": ("", ""),
    "control characters": ("<p>a\x01b\x02c\x03d", "a b c d"),
}


@pytest.mark.parametrize("name", CASES)
def test_markdown_says_what_the_tags_say(name: str) -> None:
    """One construct of HTML each."""
    html, wanted = CASES[name]
    assert to_markdown(html.encode(), BASE) == wanted


def test_text_has_lines_and_no_marks() -> None:
    """As Markdown, without marks: a line an item and row, an empty one between paragraphs."""
    html = b"<h1>T</h1><p>a <b>b</b> <a href=/x>c*</a><ul><li>d<li>e</ul><table><tr><td>1<td>2</table><pre>x\n  y</pre>"
    assert to_text(html) == "T\n\na b c*\n\n- d\n- e\n\n1 \u00b7 2\n\nx\n  y"


HOSTILE = {
    "deep quotes": b"<blockquote>" * 2000 + b"x<p>" * 2000,
    "deep lists": b"<ul><li>" * 1000 + b"x",
    "many items": b"<ol>" + b"<li>x" * 20_000,
    "spaces": b"<i> </i>" * 20_000,
    "tables in tables": b"<table><tr><td>" * 300 + b"x",
    "open emphasis": b"<p><b>" * 500 + b"x",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_pages_cost_no_more_than_they_are_long(name: str) -> None:
    """No recursion, and no copying of everything at every level."""
    started = time.process_time()
    text = to_markdown(HOSTILE[name], BASE)
    assert time.process_time() - started < 20
    assert len(text) < 200 * len(HOSTILE[name])


TAGS = ("p", "ul", "li", "table", "tr", "td", "pre", "a", "b", "code", "blockquote", "h1")
PARTS = st.sampled_from([*(f"<{tag}>" for tag in TAGS), *(f"</{tag}>" for tag in TAGS), "<br>", "x", "x", " ", "*"])


@given(st.lists(PARTS, max_size=40))
def test_any_nesting_keeps_every_word(parts: list[str]) -> None:
    """Whatever the tags, the words are all there, and white space is folded outside of code."""
    html = "".join(f"w{place}e " if part == "x" else part for place, part in enumerate(parts))
    words = re.findall(r"w\d+e", html)
    for text in (to_markdown(html.encode(), BASE), to_text(html.encode())):
        assert sorted(re.findall(r"w\d+e", text)) == sorted(words)
        assert not re.search("[\x01-\x08]", text)
        assert text == text.strip("\n " if "<pre>" not in parts else "\n")
