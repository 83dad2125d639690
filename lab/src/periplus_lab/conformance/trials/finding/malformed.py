"""Markup that no validator accepts and every browser reads: the HTML Standard says how, for each error."""

from __future__ import annotations

from ...cases import Trial, trial
from ...sites import Web, prose
from .link_kinds import FEW_PAGES, HTML, WrittenLink, on_own_pages

_DEEP = 1_000


def _anchor(target: str) -> str:
    return f'<a href="{target}">{target}</a>'


_KINDS = (
    WrittenLink(
        name="no-root-element",
        says="The tags of `html`, `head` and `body` may be left out.",
        source=f"{HTML} Optional tags",
        markup=f"<p>Nothing else.\n{_anchor('/no-root-element')}",
        leads_to=("/no-root-element",),
    ),
    WrittenLink(
        name="unclosed-elements",
        says="Elements that are not closed end where they must.",
        source=f"{HTML} The in body insertion mode",
        markup=f"<html><body><div><ul><li><b>A<li><i>B<p>C<table><tr><td>{_anchor('/unclosed-elements')}<tr><td>D",
        leads_to=("/unclosed-elements",),
    ),
    WrittenLink(
        name="nested-anchors",
        says="An `a` within an `a` closes the first; both are links.",
        source=f"{HTML} The in body insertion mode",
        markup='<html><body><p><a href="/outer-anchor">Outer <a href="/inner-anchor">inner</a> again</a></p></body>',
        leads_to=("/outer-anchor", "/inner-anchor"),
    ),
    WrittenLink(
        name="slash-for-space",
        says="A slash between the name of a tag and an attribute counts as a space.",
        source=f"{HTML} Self-closing start tag state",
        markup='<html><body><p><a/href="/slash-for-space"/>A slash</a></p></body>',
        leads_to=("/slash-for-space",),
    ),
    WrittenLink(
        name="no-space-between-attributes",
        says="Attributes without a space between them are two attributes.",
        source=f"{HTML} After attribute value (quoted) state",
        markup='<html><body><p><a class="x"href="/no-space">No space</a></p></body>',
        leads_to=("/no-space",),
    ),
    WrittenLink(
        name="missing-quote",
        says="A value whose quote is missing ends at the next one; links after that are found.",
        source=f"{HTML} Attribute value (double-quoted) state",
        markup=f'<html><body><p><a href="/never>A</a> {_anchor("/swallowed")}</p>\n{_anchor("/after-missing-quote")}',
        leads_to=("/after-missing-quote",),
    ),
    WrittenLink(
        name="abrupt-comment",
        says="`<!-->` is an empty comment, and ends there.",
        source=f"{HTML} Comment start state",
        markup=f"<html><body><!-->\n<p>{_anchor('/abrupt-comment')}</p>\n<!-- the end --></body>",
        leads_to=("/abrupt-comment",),
    ),
    WrittenLink(
        name="comment-with-bang",
        says="`--!>` ends a comment, too.",
        source=f"{HTML} Comment end bang state",
        markup=f"<html><body><!-- a comment --!>\n<p>{_anchor('/comment-with-bang')}</p>\n<!-- the end --></body>",
        leads_to=("/comment-with-bang",),
    ),
    WrittenLink(
        name="bogus-comment",
        says="`<![CDATA[` and `<?` in HTML begin a comment that ends at the next `>`.",
        source=f"{HTML} Bogus comment state",
        markup=f"<html><body><![CDATA[ x > {_anchor('/after-cdata')} ]]>\n<?php x > {_anchor('/after-php')} ?></body>",
        leads_to=("/after-cdata", "/after-php"),
    ),
    WrittenLink(
        name="after-the-end",
        says="What comes after `</html>` is still a part of the body.",
        source=f"{HTML} The after after body insertion mode",
        markup=f"<html><body><p>The end.</p></body></html>\n<p>{_anchor('/after-the-end')}</p>",
        leads_to=("/after-the-end",),
    ),
    WrittenLink(
        name="misplaced-in-table",
        says="What cannot be in a table is put in front of it, and not dropped.",
        source=f"{HTML} Foster parent",
        markup=f"<html><body><table>{_anchor('/misplaced-in-table')}<tr><td>A</td></tr></table></body>",
        leads_to=("/misplaced-in-table",),
    ),
    WrittenLink(
        name="nul",
        says="A byte of zero in a page does not end it.",
        source=f"{HTML} Data state",
        markup=f"<html><body><p>A zero: \0 and on</p><p>{_anchor('/after-nul')}</p></body>",
        leads_to=("/after-nul",),
    ),
    WrittenLink(
        name="deep-nesting",
        says="Elements may be nested 1,000 deep: the standard has no limit.",
        source=f"{HTML} Tree construction",
        markup=f"<html><body>{'<div>' * _DEEP}<p>{_anchor('/deep-nesting')}</p>{'</div>' * _DEEP}</body>",
        leads_to=("/deep-nesting",),
    ),
    WrittenLink(
        name="invalid-bytes",
        says="Bytes that are not of the encoding of a page become U+FFFD, and do not end it.",
        source="WHATWG Encoding section 4.1",
        markup=f"<html><body><p>Not UTF-8: \udcff\udcfe\udcc3</p><p>{_anchor('/after-invalid-bytes')}</p></body>",
        leads_to=("/after-invalid-bytes",),
    ),
)


@trial("finding")
def malformed(web: Web) -> Trial:
    """One page for each error."""
    site = web.site()

    def serve(target: str, kind: WrittenLink) -> None:
        text = f"<!doctype html>\n<title>{kind.name}</title>\n{kind.markup}\n<p>{prose(target)}"
        site.text(target, text.encode("utf-8", "surrogateescape"), "text/html; charset=utf-8")

    return Trial(seed=site.url(), seconds=FEW_PAGES, cases=on_own_pages(site, _KINDS, serve))
