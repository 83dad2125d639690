"""Visible text as it is written: blanks where the page has them, and no signs of permalinks."""

from __future__ import annotations

from collections.abc import Callable

from tests.each_case import each_case

from periplus.content.scan import Columns

Scanner = Callable[..., Columns]

TEXTS = [
    # Elements inside a line add no blank, and white space between two of them is one.
    ("<b>json</b>.<i>dumps</i>(<span>x</span>)", "json.dumps(x)"),
    ("<span>python3</span> <span>-m</span> <span>venv</span> /path", "python3 -m venv /path"),
    ("<pre><span>def</span> <span>f</span><span>(</span>)<span>:</span>\n    <b>pass</b></pre>", "def f(): pass"),
    ("a <b> c</b>\n<i>\n</i> d", "a c d"),
    ("un<wbr>break<!-- -->able", "unbreakable"),
    ("<a href=x>a link</a>, <a href=y>and</a>.", "a link, and."),
    ("one<span>&nbsp;</span>two<span> </span>three", "one two three"),
    ("x<sup>2</sup> <math><mi>y</mi><mo>=</mo><mn>2</mn></math>", "x2 y=2"),
    # Blocks, line breaks, controls and pictures are between words.
    ("<p>a<p>b<div>c</div>d", "a b c d"),
    ("<table><tr><td>a<td>b<tr><td>c</table>", "a b c"),
    ("a<br>b<img>c<input>d<hr>e", "a b c d e"),
    ("<button>a</button><button>b</button><select><option>c<option>d</select>e", "a b c d e"),
    ("a<textarea>b</textarea>c<svg><text>d</text><text>e</text></svg>f", "a b c d e f"),
    ("<nav>a</nav>b<main>c</main>", "a b c"),
    # Browsers show nothing of raw text, of what is for browsers without films, and of notes on formulas.
    ("<p>a<iframe src=/map/>b</iframe>c<noembed>d</noembed>e<noframes><p>f</noframes>g", "a c e g"),
    ("<p>a<iframe src=/map/><p>b", "a"),
    ("a<video src=v>b<a href=x>c</a></video>d<audio>e</audio><canvas>f</canvas>g", "a d g"),
    ("<div><video src=v>a</div>b<p><audio>c<p>d</audio>e", "b d e"),
    ("<math><semantics><mi>x</mi><annotation>y</annotation></semantics></math>, z", "x, z"),
    ("<math><mi>x</mi><annotation-xml><ci>y</ci></annotation-xml><annotation/><mi>z</mi></math>", "xz"),
    ("<annotation>a</annotation>", "a"),
    # Signs by which the links of headings are copied.
    ('<h2>Title<a class="headerlink" href="#title" title="Link">\u00b6</a></h2>text', "Title text"),
    ('<h2>Title <a href="#title">&para;</a></h2>text', "Title text"),
    ('<h2><a href="#title">&#167;</a> Title</h2>text', "Title text"),
    ("<h2>Title<a href=#t> <span aria-hidden=true>#</span> </a></h2>text", "Title text"),
    ("<h2>Title<a href=#t>\U0001f517\ufe0f</a></h2>text", "Title text"),
    ('<h2>Title<a href="/page#t" class="x permalink">#</a></h2>text', "Title text"),
    ("<dt>os.path.join(<em>path</em>)<a href=#os>\u00b6</a><dd>text", "os.path.join(path) text"),
    # Such signs elsewhere are text.
    ("<p>See \u00a7 3 # 4 \u00b6</p>", "See \u00a7 3 # 4 \u00b6"),
    ("<a href=/c>#</a> <a href=#x>## 3</a> <a href=#x>*</a>", "# ## 3 *"),
    ("C<b>#</b>", "C#"),
]


@each_case(("html", "text"), TEXTS)
def test_text_as_written(scanner: Scanner, html: str, text: str) -> None:
    """By both scanners."""
    assert scanner(html.encode()).text.decode() == text


def test_links_to_the_page_itself_have_their_signs(scanner: Scanner) -> None:
    """The text of a link is what is written in it."""
    assert scanner(b"<h2>Title<a href=#t>&para;</a></h2>").anchors == ["\u00b6"]


def test_more_links_than_are_kept(scanner: Scanner) -> None:
    """The signs of those beyond the bound are left out, too."""
    html = b"<h2>t<a href=#t>&para;</a></h2>" * 10_010
    assert scanner(html).text.split() == [b"t"] * 10_010
