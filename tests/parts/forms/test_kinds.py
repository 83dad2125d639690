"""What forms are for; those that do something must not be taken for a search."""

from __future__ import annotations

from tests.each_case import each_case

from periplus.content import read_page
from periplus.parts.forms.kinds import FormKind, kind_of


def kind(html: str) -> FormKind:
    [form] = read_page(html.encode(), "http://a.test/", "text/html").forms
    return kind_of(form)


@each_case(
    "html",
    [
        "<form action=/search><input name=q></form>",
        "<form action=/find><input name=term placeholder='A book'><select name=year><option>1<option>2</select></form>",
        "<form><input type=search name=x></form>",
        "<form action=/suche><input name=begriff></form>",
        "<form action=/catalogue><label>Author <input name=author></label><label>Title <input name=title></label>"
        "<select name=year><option>1990<option>1991</select><input type=submit value=Search name=go></form>",
    ],
)
def test_searches(html: str) -> None:
    assert kind(html) is FormKind.SEARCH


@each_case(
    ("html", "expected"),
    [
        ("<form action=/login><input name=user><input type=password name=p></form>", FormKind.LOGIN),
        ("<form action=/join><input name=email><input type=password name=p><input type=password name=q></form>",
         FormKind.REGISTRATION),
        ("<form action=/newsletter><input name=email></form>", FormKind.SUBSCRIPTION),
        ("<form action=/forgot><input type=email name=email></form>", FormKind.RECOVERY),
        ("<form action=/cart/add><input type=hidden name=product_id><input name=quantity></form>", FormKind.ORDER),
        ("<form action=/contact><input name=name><textarea name=message></textarea></form>", FormKind.CONTACT),
        ("<form action=/delete><input name=id></form>", FormKind.OTHER),
        ("<form><select name=lang><option>en<option>de</select></form>", FormKind.DISPLAY),
        ("<form action=/forum><select name=f><option>1<option>2</select></form>", FormKind.NAVIGATION),
        ("<form action=/logout></form>", FormKind.OTHER),
    ],
)  # fmt: skip
def test_what_must_not_be_submitted(html: str, expected: FormKind) -> None:
    assert kind(html) is expected
