"""Pages as Markdown and as text: one construct of HTML each, what new users stumbled over, and tag soup."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token
from tests.each_case import each_case
from tests.formats.linear_time import assert_linear

from periplus.content.scan import scan
from periplus.store.export import to_markdown, to_text

URL = "https://example.org/dir/page"

CASES = {
    "heading": ("<h2> A  <em>title</em></h2>", "## A *title*"),
    "bold heading": ("<h2><b>A</b> b<br>c</h2>", "## A b c"),
    "paragraphs": ("<p>one\n two<p>three", "one two\n\nthree"),
    "text around blocks": ("before<div>in</div>after", "before\n\nin\n\nafter"),
    "link": ("<p>see <a href=../x>the <b>x</b></a>.", "see [the **x**](https://example.org/x)."),
    "link to brackets": ("<a href='/a(b)'>t</a>", "[t](https://example.org/a%28b%29)"),
    "link with brackets": ("<p>a <a href=/n>[1]</a>", "a [\\[1\\]](https://example.org/n)"),
    "link behind an exclamation": ("<p>Oh!<a href=/n>n</a>", "Oh\\![n](https://example.org/n)"),
    "link that is not a page": (
        "<a href='javascript:1'>t</a> <a>u</a> <a href='mailto:a@b.c'>v</a>",
        "t u [v](mailto:a@b.c)",
    ),
    "link around blocks": (
        "<a href=/x><h3>T</h3><p>t</p></a>",
        "### [T](https://example.org/x)\n\n[t](https://example.org/x)",
    ),
    "emphasis keeps spaces outside": ("a<b> b </b>c", "a **b** c"),
    "emphasis overlaps": ("<p><b>a <i>b</b> c</i> d", "**a *b*** *c* d"),
    "emphasis that markdown would not see": ("<p>a<b>(b)</b>c", "a(b)c"),
    "emphasis without an end": ("<p><b>a<p>b", "**a**\n\nb"),
    "deleted, quoted, raised": ("<p><s>a</s> <q>b</q> x<sup>2</sup>", "~~a~~ \u201cb\u201d x<sup>2</sup>"),
    "image": ("<p>a<img src=i.png alt='a [b]'>", "a![a \\[b\\]](https://example.org/dir/i.png)"),
    "image as a link": (
        "<p>a <a href=/x><img src=/i alt=b></a> c",
        "a [![b](https://example.org/i)](https://example.org/x) c",
    ),
    "images that lead elsewhere": (
        "<a href=/><img src=l alt=logo></a><p>a<a href='#t'><img src=t alt=up></a> b<a href=n><img src=n alt=next></a>",
        "a b",
    ),
    "image without a text": ("<p>a<img src=i.png><img src=j.png alt=''>", "a"),
    "image of data": ("<p>a<img src='data:image/png;base64,AAAA' alt=b>", "a"),
    "list": ("<ul><li>a<li>b</ul>", "- a\n- b"),
    "ordered list": ("<ol start=9><li>a<li>b</ol>", "9. a\n10. b"),
    "nested list": ("<ul><li>a<ol><li>b<li>c</ol><li>d</ul>", "- a\n  1. b\n  2. c\n- d"),
    "list among items": ("<ul><li>a</li><ul><li>b</ul><li>c</ul>", "- a\n  - b\n- c"),
    "items of paragraphs": ("<ul><li><p>a<p>b<li>c</ul>", "- a\n\n  b\n\n- c"),
    "items in nothing": ("<li>a<li>b", "- a\n- b"),
    "definitions": (
        "<dl><dt>a<dt>b<dd>c<dd>d<dt><code>e</code> <i>f</i><dd>g</dl>",
        "- **a**\n- **b**\n\n  c\n\n  d\n\n- `e` *f*\n\n  g",
    ),
    "classifier": ("<dl><dt><b>x</b><span class=classifier>int</span><dd>y</dl>", "- **x : int**\n\n  y"),
    "quote": ("<blockquote><p>a<p>b<blockquote>c</blockquote></blockquote>d", "> a\n>\n> b\n>\n> > c\n\nd"),
    "code": ("<p>the <code>a_b*</code> <kbd>c</kbd>", "the `a_b*` `c`"),
    "code with a tick": ("<p><code>a`b</code> <code>`</code>", "``a`b`` `` ` ``"),
    "code in code": ("<p><code>f(<em><code>a, **b</code></em>)</code> c", "`f(a, **b)` c"),
    "emphasis in emphasis": ("<p><em>a <i>b</i> c</em> d", "*a b c* d"),
    "link in code": ("<p><code>f(<a href=/x>X</a>)</code>", "`f(`[`X`](https://example.org/x)`)`"),
    "preformatted": ("<pre><code>if x:\n    y_z\n\n  *</code></pre>", "```\nif x:\n    y_z\n\n  *\n```"),
    "preformatted in an item": ("<ul><li>a<pre>x\n y</pre></ul>", "- a\n\n  ```\n  x\n   y\n  ```"),
    "preformatted with breaks": ("<pre>a<br>b\r\nc\td</pre>", "```\na\nb\nc\td\n```"),
    "fences inside": ("<pre>```\nx</pre>", "````\n```\nx\n````"),
    "table": (
        "<table><caption>T</caption><tr><th>A<th>B<tr><td>1|2<td><p>x<p>y<tr><td><pre>c</pre><td><ul><li>d<li>e</ul></table>",
        "T\n\n| A | B |\n| --- | --- |\n| 1\\|2 | x<br>y |\n| `c` | - d<br>- e |",
    ),
    "table without a header": (
        "<table><tr><td>a<td>b<tr><th>c<td>d</table>",
        "|  |  |\n| --- | --- |\n| a | b |\n| c | d |",
    ),
    "table with spans": (
        "<table><thead><tr><td>A<td>B<td>C</thead><tr><td colspan=2>a<td>c<tr><td>d<td><td></table>",
        "| A | B | C |\n| --- | --- | --- |\n| a |  | c |\n| d |",
    ),
    "table with rows that share a cell": (
        "<table><thead><tr><th>A<th>B<th>C</thead><tr><td rowspan=2>a<td>b<td>c<tr><td>d<td>e<tr><td>f<td>g<td>h",
        "| A | B | C |\n| --- | --- | --- |\n| a | b | c |\n|  | d | e |\n| f | g | h |",
    ),
    "table with cells that span both": (
        "<table><tr><th>A<th>B<th>C<th>D<tr><td>1<td colspan=2 rowspan=2>x<td>2<tr><td>3<td>4<tr><td>5<td>6</table>",
        "| A | B | C | D |\n| --- | --- | --- | --- |\n| 1 | x |  | 2 |\n| 3 |  |  | 4 |\n| 5 | 6 |",
    ),
    "lists in the cells of a table": (
        "<table><tr><th>A<th>B<tr><td><ul><li>one<li>two</ul><td><ol><li>x<li>y</ol></table>",
        "| A | B |\n| --- | --- |\n| - one<br>- two | 1. x<br>2. y |",
    ),
    "row spans end with their group": (
        "<table><thead><tr><th rowspan=9>A<th>B</thead><tbody><tr><td>a<td>b</tbody></table>",
        "| A | B |\n| --- | --- |\n| a | b |",
    ),
    "table for layout": (
        "<table><tr><td><h2>A</h2>a text that goes on<td>and some more of it</table>",
        "## A\n\na text that goes on\n\nand some more of it",
    ),
    "tables in a table": (
        "<table><tr><td>x<tr><td><table><tr><td>a<td>b<tr><td>c<td>d</table></table>",
        "x\n\n|  |  |\n| --- | --- |\n| a | b |\n| c | d |",
    ),
    "rule and break": ("<p>a<br>b<br><br>c<hr>d<br>", "a  \nb\n\nc\n\n---\n\nd"),
    "marks of the page are not marks": (
        "<p># 1*2*3 a * b [x](y) _y_ a_b \\ &lt;b> &amp;amp; ~~d~~",
        "\\# 1\\*2\\*3 a * b [x\\](y) \\_y\\_ a_b \\ \\<b> \\&amp; \\~~d\\~~",
    ),
    "a list that is none": ("<p>- a<p>1. b<p>> c<p>---", "\\- a\n\n1\\. b\n\n\\> c\n\n\\---"),
    "controls": ("<p>x <button>b<p>c</button><select><option>o</select><textarea>t</textarea>y", "x y"),
    "empty": ("", ""),
    "control characters": ("<p>a\x01b\x02c\u200bd\xade", "a b cde"),
}


@each_case("name", CASES)
def test_markdown_of_each_construct(name: str) -> None:
    """One construct of HTML each."""
    page, wanted = CASES[name]
    assert to_markdown(page.encode(), URL) == wanted


PROSE = (
    "<p>This is a sentence of the kind that only the main text of a page has, and it is long enough to be seen. " * 3
)


def test_only_the_main_text_is_written() -> None:
    """Navigation, the search form and the footer are left out; title and text stay."""
    page = (
        "<body><nav><ul><li><a href=/>Home</a><li><a href=/b>Blog</a></ul></nav>"
        "<div class=sidebar><a href=/1>One</a> <a href=/2>Two</a></div>"
        f"<form action=/s><label>Search</label><input><button>Go</button></form><main><h1>Title</h1>{PROSE}</main>"
        "<hr><footer><a href=/imprint>Imprint</a></footer>"
    )
    for text in (to_markdown(page.encode(), URL), to_text(page.encode(), URL)):
        assert "This is a sentence" in text
        assert text.splitlines()[0].endswith("Title")
        assert not re.search("Home|Blog|One|Two|Search|Go|Imprint|---", text)


def test_the_title_of_the_page_is_kept_if_it_stands_apart() -> None:
    """A heading with the words of the title, and headings that are links, are not navigation."""
    page = (
        "<title>8.1. Numbers</title><body><h2>8.1. Numbers</h2><ul><li><a href=/a>One</a><li><a href=/b>Two</a></ul>"
        f"{PROSE}<h3><a href='#c'>Third</a></h3>{PROSE}"
    )
    assert headings_of(page) == ["## 8.1. Numbers", "### Third"]


@each_case(
    ("top", "first"),
    [
        ("<div class=toc><b>Plans of *Q* #</b><ul><li><a href=#a>1. Searching</a></ul></div>", r"# Plans of \*Q\* \#"),
        ("<h1>1. Searching</h1><p>At first.<h1>2. Sorting</h1>", r"# Plans of \*Q\* \#"),
        ("<h2>Searching</h2>", r"# Plans of \*Q\* \#"),
        ("<h2>Plans of queries</h2>", "## Plans of queries"),
        ("<div>Plans of *Q* are made</div>", r"Plans of \*Q\* are made"),
        ("<h1>How to search</h1>", "# How to search"),
    ],
)
def test_the_title_is_written_above_a_text_without_it(top: str, first: str) -> None:
    """If neither a heading nor the first line has it, and no other heading is for the page; its signs mean nothing."""
    page = f"<body>{top}{PROSE}{PROSE}"
    written = to_markdown(page.encode(), "https://example.org/", title="Plans of *Q* #")
    assert written.splitlines()[0] == first
    assert to_markdown(b"<body>", "https://example.org/", title="Plans") == ""


def test_short_paragraphs_that_are_left_out_do_not_part_a_heading_from_its_text() -> None:
    """Beside a list they do, and so do longer ones; another heading takes what follows for itself."""
    answer = f"<p>Yes.</p>{PROSE}"
    faq = f"<h1><a href='#t'>Questions</a></h1><h2><a href='#q'>Is it?</a></h2>{answer}"
    assert headings_of(faq) == ["# Questions", "## Is it?"]
    assert headings_of(faq.replace("Yes.", "<a href=/a>Yes, as everybody knows.</a>" * 5)) == []
    assert headings_of(faq.replace("<p>Yes.</p>", "<ul><li><a href=/a>Yes</a></ul>")) == []
    assert headings_of(faq.replace("Yes.</p>", "Yes.</p><h2><a href='#n'>Next</a></h2>")) == ["## Next"]


def test_the_heading_that_is_the_title_is_kept_beside_one_that_has_its_words() -> None:
    """Another heading with the same words of the title and others is not the title, though it be main text."""
    page = f"<title>Ports - Guide</title><h1>Ports</h1><ul><li><a href=/a>A</a></ul>{PROSE}<h2>More ports</h2>{PROSE}"
    assert headings_of(page) == ["# Ports", "## More ports"]


@each_case("between", ["-", "|", "\u2013", "\u2014", "\xb7"])
def test_the_name_of_the_site_is_not_the_heading_of_a_page(between: str) -> None:
    """It may be the longer part of the title; the other part stands nearer to the text."""
    links = "<ul><li><a href=/a>A</a></ul>"
    site, own = "<h1><a href=/>The guide to harbours</a></h1>", "<h1>Ports of call</h1>"
    title = f"<title>Ports of call {between} The guide to harbours</title>"
    assert headings_of(f"{title}{site}{links}{own}{links}{PROSE}<h2>More</h2>{PROSE}") == ["# Ports of call", "## More"]
    assert headings_of(f"{title}{site}{links}{PROSE}<h2>Ports of call</h2>{PROSE}")[1:] == ["## Ports of call"]


def headings_of(page: str) -> list[str]:
    """The headings in the Markdown of a page."""
    return [line for line in to_markdown(page.encode(), URL).splitlines() if line.startswith("#")]


@each_case(
    "page",
    [
        "<pre><pre>a\nb</pre></pre>",
        "<pre><code><pre>a\nb</pre></code></pre>",
        "<div class=highlight><pre><div class=line>a</div><div class=line>b</div></pre></div>",
        "<div class=fragment><div class=line>a</div><div class=line>b</div></div>",
        "<table><tr><td><pre>1\n2</pre><td><pre>a\nb</pre></table>",
        "<table><tr><td class=linenos><div class=linenodiv><pre>1\n2</pre></div>"
        "<td class=code><div><pre>a\nb</pre></table>",
        "<table class=lntable><tr><td><pre><code><span class=lnt>1\n</span><span class=lnt>2\n</span></code></pre>"
        "<td><pre><code>a\nb</code></pre></table>",
        "<pre><table><tr><td class=gutter>1<td class=code>a<tr><td class=gutter>2<td>b</table></pre>",
        "<pre><span class=lineno>1</span>a\n<a class=lineno href='#2'>2</a>b</pre>",
    ],
)
def test_code_has_one_fence_and_no_line_numbers(page: str) -> None:
    """Nested `<pre>` and tables of highlighters give one block of code."""
    assert to_markdown(page.encode(), URL) == "```\na\nb\n```"


@each_case(
    "page",
    [
        "<pre><code class='language-python'>{}</code></pre>",
        "<pre class='lang-python'>{}</pre>",
        "<pre class='brush: python; toolbar: false'>{}</pre>",
        "<pre class='src src-python'>{}</pre>",
        "<pre class='prettyprint lang-Python linenums'>{}</pre>",
        "<pre><code class='hljs python'>{}</code></pre>",
        "<pre><code class='python hljs'>{}</code></pre>",
        "<div class='sourceCode'><pre class='sourceCode python'><code>{}</code></pre></div>",
        "<div class='highlight-python notranslate'><div class='highlight'><pre>{}</pre></div></div>",
        "<div class='highlight highlight-source-python'><pre>{}</pre></div>",
        "<div class='language-python highlighter-rouge'><div class='highlight'><pre>{}</pre></div></div>",
        "<div class='highlight-python'><div class='highlight'><table class='highlighttable'><tr><td class='linenos'>"
        "<pre>1</pre><td class='code'><div class='highlight'><pre>{}</pre></div></table></div></div>",
    ],
)
def test_code_keeps_its_language(page: str) -> None:
    """Wherever the classes of a highlighter name it."""
    assert to_markdown(page.replace("{}", "x = 1").encode(), URL) == "```python\nx = 1\n```"


@each_case("classes", ["lang-en", "highlight-default", "language-none", "highlight", "codehilite"])
def test_code_of_no_language(classes: str) -> None:
    """Classes that name a natural language, or none."""
    assert to_markdown(f"<div class={classes}><pre>x</pre></div>".encode(), URL) == "```\nx\n```"


@each_case(
    "heading",
    [
        "A title<a class='headerlink' href='#a' title='Permalink'>\u00b6</a>",
        "A title <a href='#a'>#</a>",
        "<a href='#a'>\u00a7</a> A title",
        "A title<a href='https://example.org/dir/page#a'>\U0001f517</a>",
        "A title<a class='hash-link' href='#a'>\u200b</a>",
        "<a class='anchor' href='#a'>Link to this heading</a>A title",
        "<a class='header' href='#a'>A title</a>",
        "<a class='anchor' href='#a'>A title</a>",
        "A title<span class='mw-editsection'>[<a href='/edit'>edit</a>]</span>",
    ],
)
def test_headings_have_no_permalinks(heading: str) -> None:
    """Neither their signs nor links of a heading to itself."""
    assert to_markdown(f"<h2 id=a>{heading}</h2>".encode(), URL) == "## A title"


def test_terms_have_no_permalinks() -> None:
    """Terms, captions and cells as manuals have them; a footnote's asterisk stays."""
    sign = "<a class=headerlink href='#x'>\u00b6</a>"
    page = f"<dl><dt>f(x){sign}<dd>does</dl><p>Caption{sign}<p>as said<a href='#n'>*</a>"
    wanted = "- **f(x)**\n\n  does\n\nCaption\n\nas said[\\*](https://example.org/dir/page#n)"
    assert to_markdown(page.encode(), URL) == wanted


def test_links_keep_their_fragments() -> None:
    """Also links to the same page, and relative to a base."""
    page = b"<p><a href='other#part'>a</a> <a href='#top'>b</a> <a href='?q=1#x'>c</a> <a href=''>d</a>"
    assert to_markdown(page, URL) == (
        "[a](https://example.org/dir/other#part) [b](https://example.org/dir/page#top)"
        " [c](https://example.org/dir/page?q=1#x) [d](https://example.org/dir/page)"
    )
    assert to_markdown(b"<p><a href='x#y'>a</a>", URL, base="https://b.example/") == "[a](https://b.example/x#y)"


def test_text_has_lines_and_no_marks() -> None:
    """As Markdown, without marks: a line an item and row, an empty one between paragraphs."""
    page = (
        b"<h1>T</h1><p>a <b>b</b> <a href=/x>c*</a><br><img src=i alt=d><p><img src=i alt=i><ul><li>e<li>f</ul>"
        b"<table><tr><td>1<td>2<tr><td><td>3</table><pre class=lang-c>x\n  y</pre><blockquote>q</blockquote>"
    )
    wanted = "T\n\na b c*\nd\n\n- e\n- f\n\n1 \u00b7 2\n3\n\nx\n  y\n\nq"
    assert to_text(page, URL) == wanted


def test_text_has_no_permalinks() -> None:
    """As Markdown: only links within the page are looked at."""
    page = b"<h2>T <a href='#t'>#</a></h2><p>a <a href='/b'>b</a><a class=headerlink href='#c'>\xc2\xb6</a>"
    assert to_text(page, URL) == "T\n\na b"


def test_text_ends_when_there_is_enough() -> None:
    """With the block in which that is; the rest of a huge page is not written."""
    page = b"".join(b"<div><p>paragraph %d" % number for number in range(1000))
    whole = to_text(page, URL)
    some = to_text(page, URL, 200)
    assert whole.startswith(f"{some}\n\n")
    assert 200 < len(some) < 300
    assert to_text(page, URL, len(whole)) == whole


PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def parsed_text(tokens: list[Token]) -> str:
    """The words that a parser of Markdown sees, and whether they are a paragraph."""
    out = []
    for token in tokens:
        if token.type not in ("inline", "paragraph_open", "paragraph_close"):
            out.append(f"<{token.type}>")
        out += [child.content for child in token.children or () if child.type != "html_inline"]
    return "".join(out)


@given(st.text(alphabet="ab1 *_`[]()<>!#\\&~-+.:=|;/\"'", min_size=1, max_size=25))
def test_signs_in_texts_mean_nothing(text: str) -> None:
    """A paragraph is one to a parser of Markdown, with the same words, whatever signs it has."""
    markdown = to_markdown(f"<p>{html.escape(text)}".encode(), URL)
    assert parsed_text(PARSER.parse(markdown)) == " ".join(text.split())


INLINE = ("b", "i", "code", "del", "a href=x", "sup")
INLINE_PARTS = st.sampled_from(
    [*(f"<{tag}>" for tag in INLINE), *(f"</{tag.split()[0]}>" for tag in INLINE), "one", " two ", " ", ".", "(", "!"]
)


@given(st.lists(INLINE_PARTS, max_size=14))
def test_marks_are_balanced(parts: list[str]) -> None:
    """However inline tags overlap, a parser of Markdown sees only the words, and no mark among them."""
    page = "<p>" + "".join(parts)
    words = parsed_text(PARSER.parse(to_markdown(page.encode(), URL)))
    assert words.replace(" ", "") == to_text(page.encode(), URL).replace(" ", "")


BLOCKS = ("p", "ul", "ol start=3", "li", "dl", "dt", "dd", "table", "tr", "td", "th", "pre", "blockquote", "h1", "div")
CODE = ("<div class=fragment>", "<div class=line>", "<span class=lineno>", "```", "\n")
PARTS = st.sampled_from(
    [
        *(f"<{tag}>" for tag in BLOCKS + INLINE),
        *(f"</{tag.split()[0]}>" for tag in BLOCKS + INLINE),
        *CODE,
        *("<br>", "<hr>", "x", "x", " ", "*"),
    ]
)


@given(st.lists(PARTS, max_size=40))
def test_tag_soup_keeps_every_word_and_closes_every_fence(parts: list[str]) -> None:
    """Nothing raises; the words of the main text are there, once; and what follows is not part of the last block."""
    parts = [part for part in parts if "lineno" not in part or "x" not in parts]
    page = "".join(f"w{place}e " if part == "x" else part for place, part in enumerate(parts)).encode()
    markdown, text = to_markdown(page, URL), to_text(page, URL)
    main = set(re.findall(r"w\d+e", scan(page, URL).main.decode()))
    for written in (markdown, text):
        words = re.findall(r"w\d+e", written)
        assert len(words) == len(set(words))
        assert main <= set(words) <= set(re.findall(r"w\d+e", page.decode()))
        assert written == written.strip("\n")
    tokens = PARSER.parse(f"{markdown}\n\n<!-- -->\n\nThe end")
    assert [token.content for token in tokens[-3:]] == ["", "The end", ""]
    assert tokens[-3].type == "paragraph_open"
    assert tokens[-3].level == 0


HOSTILE = {
    "deep quotes": (b"<blockquote>", b"x<p>"),
    "deep lists": (b"<ul><li>", b"x"),
    "many items": (b"", b"<li>x"),
    "spaces": (b"<p>", b"<i> </i>"),
    "tables in tables": (b"<table><tr><td>", b"x"),
    "open emphasis": (b"<p><b>", b"x"),
    "a long link around blocks": (b"<a href='" + b"x" * 1500 + b"'>", b"<p>y"),
    "colspans": (b"<table><tr><th>a<th>b", b"<td colspan=999>x<tr>"),
    "breaks": (b"<p>", b" <br>"),
    "nested code": (b"<pre>", b"`x"),
    "signs": (b"<p>", b"_*[a](~"),
    "ampersands": (b"", b"a& " * 20),
    "links to itself": (b"", b"<a href='#x'>ab</a> "),
    "columns taken by rows above": (b"<table><tr><td colspan=50 rowspan=1000>a", b"<tr>"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_pages_take_linear_time_and_space(name: str) -> None:
    """Several times the page is as many times the work: no copying of everything at every level."""
    opening, repeated = HOSTILE[name]

    def page(count: int) -> bytes:
        return opening * (count // 10) + repeated * count

    small, large = (to_markdown(page(count), URL) for count in (500, 2_000))
    assert len(large) <= 4.5 * len(small) + 100
    assert len(large) < 100 * len(page(2_000))
    assert_linear(lambda count: to_markdown(page(count), URL), 2_000)


def test_images_of_few_words_take_linear_time() -> None:
    """What the page says is looked for once."""
    assert_linear(
        lambda size: to_text(b"<p>words of a page</p><img alt='a b'>" * (size // 40), "https://a.test/"), 100_000
    )
