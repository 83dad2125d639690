"""Recognises answers of a bot wall or a login wall, which stand in place of what was requested.

A header that only such an answer has is enough. A body counts only if it is markup and has two marks of its operator,
one of them a tag: a page that writes about challenges escapes its tags, and scripts with which an operator watches the
pages that it lets through are not marks.

Sources, operator by operator: Cloudflare "Detect a Challenge Page response" and "Access: Login page"; AWS WAF developer
guide, "CAPTCHA and Challenge action behavior"; DataDome "Validate Request API"; Vercel "Attack Challenge Mode"; Google
Cloud "Identity-Aware Proxy: Troubleshooting"; Sucuri "Website firewall: block pages"; Akamai "Bot Manager: challenge
actions"; HUMAN "Custom block pages"; Imperva "Error pages and codes"; Anubis, its source.
"""

from __future__ import annotations

import re

from .headers import Headers

MAX_BODY = 16_384
"""Bytes at the beginning of a body that are searched: challenges are short, or have their marks in the head."""

_HEADERS = (
    ("Cloudflare", "cf-mitigated", re.compile("challenge")),
    ("AWS WAF", "x-amzn-waf-action", re.compile("challenge|captcha")),
    ("DataDome", "x-dd-b", re.compile("[12]")),
    ("Vercel", "x-vercel-mitigated", re.compile("challenge")),
    ("Sucuri", "x-sucuri-block", re.compile(".+")),
    ("Google IAP", "x-goog-iap-generated-response", re.compile("true")),
)
"""The operator, a header, and the values of an answer that the operator gave itself."""

_REDIRECTS = (
    ("Google", re.compile(r"https?://(?:[a-z0-9-]+\.)*google\.[a-z.]+/sorry/")),
    ("Cloudflare Access", re.compile(r"https://[a-z0-9-]+\.cloudflareaccess\.com/cdn-cgi/access/login")),
)
"""The operator, and where it redirects visitors whom it does not let through."""

_PAGES = (
    ("Cloudflare", b"/cdn-cgi/challenge-platform/", re.compile(rb"<title>just a moment\.\.\.</title>")),
    ("Cloudflare", b"cf-error-details", re.compile(rb"<title>attention required! \| cloudflare</title>")),
    ("Akamai", b"sec-if-cpt-container", re.compile(rb'<script[^>]{0,300}src="/_sec/cp_challenge/')),
    ("Akamai", b"/_sec/verify?provider=", re.compile(rb"<meta http-equiv=.?refresh[^>]{0,300}bm-verify=")),
    ("Akamai", b"reference&#32;&#35;", re.compile(rb"<title>access denied</title>")),
    ("DataDome", b"captcha-delivery.com", re.compile(rb"<script[^>]{0,300}captcha-delivery\.com/[ci]\.js")),
    ("HUMAN", b"captcha.js?a=", re.compile(rb'<div[^>]{0,300}id="px-captcha"')),
    ("Imperva", b"noindex", re.compile(rb'<iframe id="main-iframe" src="/_incapsula_resource\?')),
    ("Sucuri", b"sucuri_cloudproxy_js", re.compile(rb"<title>you are being redirected\.\.\.</title>")),
    ("Google", b"/recaptcha/", re.compile(rb'<form[^>]{0,300}id="captcha-form"')),
    ("DDoS-Guard", b"<title>ddos-guard</title>", re.compile(rb'<script[^>]{0,300}src="/\.well-known/ddos-guard/')),
    ("Anubis", b"/.within.website/x/cmd/anubis/", re.compile(rb'<script id="anubis_challenge"')),
)
"""The operator, and two marks of its page in lower case: a text that is rare, and markup."""


def challenge_in(status: int, headers: Headers, body_start: bytes) -> str:
    """The operator of the bot wall or login wall that gave this answer; empty if it seems to be what was requested.

    `body_start` is decoded, as far as it has arrived; `MAX_BODY` bytes of it are read.
    """
    for operator, name, value in _HEADERS:
        if value.fullmatch((headers.get(name) or "").lower()):
            return operator
    if 300 <= status < 400:
        location = (headers.get("location") or "").lower()
        return next((operator for operator, target in _REDIRECTS if target.match(location)), "")
    start = body_start[:MAX_BODY].removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if not start.startswith(b"<"):
        return ""
    return next((operator for operator, text, markup in _PAGES if text in start and markup.search(start)), "")
