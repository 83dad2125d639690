"""Links that only scripts make: a crawler without a browser does not see them."""

from __future__ import annotations

from ...cases import Case, Trial, trial
from ...sites import Web

_SOURCE = "WHATWG HTML: Scripting; Google Search Central: JavaScript SEO basics"
_APPEND = (
    "function add(path) { var a = document.createElement('a'); a.setAttribute('href', path);"
    " a.textContent = path; document.body.appendChild(a); }"
)


@trial("finding")
def scripts(web: Web) -> Trial:
    """One page for each way; paths are put together by the script, so that no text has them."""
    site = web.site()
    bodies = {
        "/page/append": f"<script>{_APPEND} add('/made' + '-by-' + 'script');</script>",
        "/page/later": f"<script>{_APPEND} setTimeout(function () {{ add('/made' + '-la' + 'ter'); }}, 300);</script>",
        "/page/fetch": f"<script>{_APPEND} fetch('/data.json').then(function (r) {{ return r.json(); }})"
        ".then(function (d) { add('/' + d.name + '-' + d.kind); });</script>",
        "/page/file": '<script src="/links.js"></script>',
        "/page/moves": "<script>location.href = '/moved' + '-by-' + 'script';</script>",
    }
    for target, body in bodies.items():
        site.page(target, body=body)
    site.page("/", *bodies)
    site.text("/data.json", '{"name": "fetched", "kind": "name"}', "application/json")
    site.text("/links.js", f"{_APPEND} add('/in' + '-a-' + 'file');", "text/javascript")
    site.pages(("/made-by-script", "/made-later", "/fetched-name", "/in-a-file", "/moved-by-script"))

    def case(name: str, says: str, page: str, found: str) -> Case:
        return Case(name=name, says=says, source=_SOURCE, wants=site.urls(page, found))

    return Trial(
        seed=site.url(),
        seconds=180.0,
        cases=(
            case("script-link", "A link that a script adds to the page is found.", "/page/append", "/made-by-script"),
            case("script-later", "So is one that it adds after a moment.", "/page/later", "/made-later"),
            case("script-fetch", "So is one that is made from data which it fetches.", "/page/fetch", "/fetched-name"),
            case("script-file", "So is one that a script in a file of its own adds.", "/page/file", "/in-a-file"),
            case(
                "script-redirect",
                "A page that a script leaves for another leads there.",
                "/page/moves",
                "/moved-by-script",
            ),
        ),
    )
