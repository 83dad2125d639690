"""Answers of bot walls and login walls, and pages that only resemble them."""

from __future__ import annotations

from html import escape

import pytest
from tests.each_case import each_case

from periplus.formats.challenges import _PAGES, MAX_BODY, challenge_in
from periplus.formats.headers import Headers

PAGES = {
    "Cloudflare": "<!DOCTYPE html><html><head><title>Just a moment...</title></head><body>"
    "<script>window._cf_chl_opt={};a.src='/cdn-cgi/challenge-platform/h/g/orchestrate/chl_page/v1'</script>",
    "Cloudflare block": "<!DOCTYPE html><title>Attention Required! | Cloudflare</title><div id='cf-error-details'>",
    "Akamai": '<html><body><script src="/_sec/cp_challenge/sec-cpt-4-5.js" async></script>'
    '<div id="sec-if-cpt-container">',
    "Akamai interstitial": '<html><head><meta http-equiv="refresh" content="5; URL=\'/?bm-verify=AAQ\'"></head>'
    '<script>x.open("POST", "/_sec/verify?provider=interstitial")</script>',
    "Akamai denial": "<HTML><HEAD>\n<TITLE>Access Denied</TITLE>\n</HEAD><BODY>\n<H1>Access Denied</H1>\n"
    "Reference&#32;&#35;18&#46;5c</BODY>",
    "DataDome": "<html><title>a.test</title><script>var dd={'host':'geo.captcha-delivery.com'}</script>"
    '<script data-cfasync="false" src="https://ct.captcha-delivery.com/c.js"></script>',
    "HUMAN": "<!DOCTYPE html><title>Access to this page has been denied</title><script>window._pxAppId='PX1';"
    'a.src="/p/captcha/captcha.js?a=c&m=0"</script><div id="px-captcha"></div>',
    "Imperva": '<html style="height:100%"><head><META NAME="ROBOTS" CONTENT="NOINDEX, NOFOLLOW"></head><body>'
    '<iframe id="main-iframe" src="/_Incapsula_Resource?SWUDNSAI=31&xinfo=1"></iframe>',
    "Sucuri": "<html><title>You are being redirected...</title><script>var s={},sucuri_cloudproxy_js='';</script>",
    "Google": '<html><title>https://www.google.com/</title><form id="captcha-form" action="index" method="post">'
    '<script src="https://www.google.com/recaptcha/enterprise.js"></script>',
    "DDoS-Guard": '<html><head><title>DDoS-Guard</title><script src="/.well-known/ddos-guard/js-challenge/index.js">',
    "Anubis": "<!doctype html><title>Making sure you&#39;re not a bot!</title>"
    '<link href="/.within.website/x/cmd/anubis/x.css"><script id="anubis_challenge" type="application/json">{}',
}
HONEST = {
    "Cloudflare watches": "<script>a.src='/cdn-cgi/challenge-platform/scripts/jsd/main.js'</script><title>News</title>",
    "Imperva watches": '<meta name="robots" content="noindex"><script src="/_Incapsula_Resource?SWJIYLWA=7"></script>',
    "HUMAN watches": "<script>_pxAppId='PX1'</script><script src='//client.px-cloud.net/PX1/main.js'></script>",
    "DataDome watches": '<script src="https://js.datadome.co/tags.js"></script>captcha-delivery.com',
    "a login": '<!doctype html><title>Log in</title><form action="/login"><input type="password"></form>',
    "an error": "<!doctype html><title>Access Denied</title><p>You need an account.",
    "a moment": "<!doctype html><title>Just a moment...</title><p>A poem.",
    "a form": '<!doctype html><form class="captcha-form"><script src="https://www.google.com/recaptcha/api.js"></script>',
}


@each_case(
    ("status", "name", "value", "operator"),
    [
        (403, "CF-Mitigated", "challenge", "Cloudflare"),
        (202, "x-amzn-waf-action", "challenge", "AWS WAF"),
        (405, "x-amzn-waf-action", "captcha", "AWS WAF"),
        (403, "X-DD-B", "2", "DataDome"),
        (429, "x-vercel-mitigated", "challenge", "Vercel"),
        (403, "X-Sucuri-Block", "FBP007", "Sucuri"),
        (302, "X-Goog-IAP-Generated-Response", "true", "Google IAP"),
        (302, "Location", "https://www.google.com/sorry/index?continue=https://a.test/", "Google"),
        (302, "Location", "https://a.cloudflareaccess.com/cdn-cgi/access/login/a.test", "Cloudflare Access"),
        (200, "x-datadome", "protected", ""),
        (403, "Server", "cloudflare", ""),
        (201, "Location", "https://www.google.com/sorry/index", ""),
        (302, "Location", "https://a.test/share?u=https://www.google.com/sorry/", ""),
        (302, "Location", "https://a.test/login", ""),
        (403, "x-amzn-waf-action", "", ""),
    ],
)
def test_headers(status: int, name: str, value: str, operator: str) -> None:
    """Those of a challenge; not those of every answer behind the same operator."""
    assert challenge_in(status, Headers([(name, value)]), b"") == operator


@pytest.mark.parametrize("name", PAGES)
def test_pages_of_walls(name: str) -> None:
    """Whatever their status; without either mark, or quoted by an article, they are pages."""
    page = PAGES[name].encode()
    for status in (200, 202, 403, 503):
        assert challenge_in(status, Headers(), b"\xef\xbb\xbf\n" + page) == name.partition(" ")[0]
    _, text, markup = next(row for row in _PAGES if row[1] in page.lower() and row[2].search(page.lower()))
    assert challenge_in(403, Headers(), page.lower().replace(text, b"")) == ""
    assert challenge_in(403, Headers(), markup.sub(b"", page.lower())) == ""
    article = f"<!doctype html><title>Bot walls</title><pre>{escape(PAGES[name], quote=False)}</pre>"
    assert challenge_in(200, Headers(), article.encode()) == ""
    assert challenge_in(200, Headers(), b"Seen in the wild: " + page) == "", "a text is not a page"


@pytest.mark.parametrize("name", HONEST)
def test_pages_that_resemble_them(name: str) -> None:
    """Pages with an operator's scripts, logins and the like."""
    assert challenge_in(200, Headers([("x-datadome", "protected")]), HONEST[name].encode()) == ""


def test_only_the_beginning_is_searched() -> None:
    """What stands behind `MAX_BODY` bytes is not read."""
    page = PAGES["Anubis"].encode()
    assert challenge_in(200, Headers(), b"<p>" + b" " * MAX_BODY + page) == ""
