"""What a page and its links say to robots: nofollow."""

from __future__ import annotations

from ....hostile.script import HTML
from ....http import Answer, Request
from ...cases import Case, Trial, trial
from ...sites import Web, html_page

_GOOGLE = "Google's specification of the robots meta tag and X-Robots-Tag"


@trial("robots")
def nofollow(web: Web) -> Trial:
    """Links that are not to be followed, on a site whose robots.txt disallows nothing."""
    site = web.site()
    site.page("/meta", "/behind-meta", head='<meta name="ROBOTS" content="noindex, NoFollow">')
    site.page("/other-meta", "/behind-other-meta", head='<meta name="someone-else" content="nofollow">')
    for target, value in (("/header", "noindex, nofollow"), ("/other-header", "someone-else: nofollow")):
        links = [target.replace("/", "/behind-")]
        fields = (HTML, ("X-Robots-Tag", value))
        site.answers[target] = Answer(200, fields, html_page(site.url(target), links))

    def own_meta(request: Request) -> Answer:
        token = web.token_of(request).lower()
        head = f'<meta name="{token}" content="nofollow">'
        return Answer(200, (HTML,), html_page(site.url("/own-meta"), ["/behind-own-meta"], head=head))

    site.answers["/own-meta"] = own_meta
    targets = ("/meta", "/other-meta", "/header", "/other-header", "/own-meta")
    site.pages(target.replace("/", "/behind-") for target in targets)
    site.pages(("/behind-rel", "/plain"))
    site.page("/", *targets, "/plain", body='<p><a rel="noopener NoFollow" href="/behind-rel">more</a></p>')
    return Trial(
        seed=site.url(),
        cases=(
            Case(
                name="empty-disallow",
                says="An empty Disallow matches nothing: all may be crawled.",
                source="RFC 9309 section 2.2",
                wants=site.urls("/plain"),
            ),
            Case(
                name="meta-nofollow",
                says='Links of a page with <meta name="robots" content="nofollow"> are not followed.',
                source=f"HTML 4.01 appendix B.4.1; {_GOOGLE}",
                wants=site.urls("/meta"),
                forbids=site.urls("/behind-meta"),
            ),
            Case(
                name="meta-nofollow-by-name",
                says="A meta tag with the name of a crawler speaks to this crawler.",
                source=_GOOGLE,
                wants=site.urls("/own-meta"),
                forbids=site.urls("/behind-own-meta"),
            ),
            Case(
                name="meta-for-others",
                says="A meta tag with the name of another crawler does not speak to this one.",
                source=_GOOGLE,
                wants=site.urls("/behind-other-meta"),
            ),
            Case(
                name="header-nofollow",
                says="Links of a page that is sent with `X-Robots-Tag: nofollow` are not followed.",
                source=_GOOGLE,
                wants=site.urls("/header"),
                forbids=site.urls("/behind-header"),
            ),
            Case(
                name="header-for-others",
                says="`X-Robots-Tag: name: nofollow` speaks to the crawler of this name alone.",
                source=_GOOGLE,
                wants=site.urls("/behind-other-header"),
            ),
            Case(
                name="rel-nofollow",
                says='A link with rel="nofollow" SHOULD not be followed.',
                source="WHATWG HTML, link type nofollow; microformats, rel-nofollow",
                wants=site.urls("/plain"),
                forbids=site.urls("/behind-rel"),
            ),
        ),
    )
