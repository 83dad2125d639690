"""What a crawler tells whom: credentials, cookies, where it came from; and whether it checks who answers (TLS)."""

from __future__ import annotations

from collections.abc import Callable

from ....hostile.connections import EXPIRED, SELF_SIGNED, WRONG_NAME
from ....hostile.script import HTML
from ....http import Answer
from ....log import Visit
from ...cases import Case, Evidence, Failure, Judge, Trial, trial
from ...sites import DOMAIN, Web, html_page


def _never(reason: str, is_wrong: Callable[[Visit], bool]) -> Judge:
    def judge(evidence: Evidence) -> Failure | None:
        found = [visit for visit in evidence.visits if is_wrong(visit)]
        return Failure(reason, tuple(found)) if found else None

    return judge


@trial("safety")
def secrets(web: Web) -> Trial:
    """A site with credentials in a link, and cookies; another of the same domain is linked and redirected to."""
    site, other = web.site(), web.site("other")
    locked = site.url("/locked").replace("://", "://user:secret@")
    cookies = (
        ("Set-Cookie", "own=1; Path=/"),
        ("Set-Cookie", f"planted=1; Path=/; Domain={other.host}"),
        ("Set-Cookie", "all=1; Path=/; Domain=test"),
    )
    body = html_page("home", (locked, "/a#fragment", "/to/other", other.url("/linked")))
    site.answers["/"] = Answer(200, (HTML, *cookies), body)
    site.page("/locked", "/below-locked", other.url("/below-locked"))
    site.pages(("/below-locked", "/below-fragment"))
    site.page("/a", "/below-fragment")
    site.redirect("/to/other", other.url("/redirected"), 302)
    other.pages(("/linked", "/redirected", "/below-locked"))
    cookie = "RFC 6265 section 5.3 (steps 5 and 6)"
    return Trial(
        seed=site.url(),
        needs_names=True,
        cases=(
            Case(
                name="credentials-stay",
                says="Credentials for one host are not sent to another.",
                source="RFC 9110 section 11.6.2; WHATWG Fetch 4.4 (Authorization across origins)",
                wants=site.urls("/to/other"),
                judge=_never(
                    "sent credentials to another host",
                    lambda visit: visit.host == other.host and bool(visit.field("authorization")),
                ),
            ),
            Case(
                name="referer-without-secrets",
                says="A user agent MUST NOT include the fragment and userinfo components of the URI in Referer.",
                source="RFC 9110 section 10.1.3",
                wants=site.urls("/below-fragment"),
                judge=_never(
                    "the field Referer has more than it may",
                    lambda visit: "secret" in visit.field("referer") or "#" in visit.field("referer"),
                ),
            ),
            Case(
                name="cookies-stay",
                says="A cookie without a Domain attribute is sent to the host that set it alone.",
                source=cookie,
                wants=site.urls("/to/other"),
                judge=_never(
                    "sent a cookie to another host",
                    lambda visit: visit.host == other.host and "own=1" in visit.field("cookie"),
                ),
            ),
            Case(
                name="cookies-of-others",
                says="A cookie for another host, or for a top-level domain, is ignored.",
                source=cookie,
                wants=site.urls("/to/other"),
                judge=_never(
                    "sent a cookie that another host set",
                    lambda visit: any(name in visit.field("cookie") for name in ("planted=1", "all=1")),
                ),
            ),
        ),
    )


@trial("safety")
def tls(web: Web) -> Trial:
    """A site that is reached without and with TLS, where it has a good certificate."""
    site = web.site()
    secure = site.url("/secure").replace("http:", "https:")
    fields = (HTML, ("Set-Cookie", "guarded=1; Path=/; Secure"))
    site.page("/", secure, "/first")
    site.page("/first", "/second")
    site.page("/second", "/third")
    site.answers["/secure"] = Answer(200, fields, html_page("secure", ("/secure/too", site.url("/plain"))))
    site.pages(("/third", "/secure/too", "/plain"))
    return Trial(
        seed=site.url(),
        needs_tls=True,
        cases=(
            Case(
                name="good-certificate",
                says="A site whose certificate is signed by a trusted authority is crawled.",
                source="RFC 5280 section 6; RFC 9110 section 4.3.4",
                wants=(secure, f"{secure}/too"),
            ),
            Case(
                name="referer-without-tls",
                says="A user agent MUST NOT send Referer in an unsecured request if the referring page was secure.",
                source="RFC 9110 section 10.1.3",
                wants=site.urls("/third"),
                judge=_never(
                    "sent the URL of a secure page over an unsecured connection",
                    lambda visit: not visit.is_secure and visit.field("referer").startswith("https:"),
                ),
            ),
            Case(
                name="secure-cookies",
                says="A cookie with the Secure attribute is not sent over an unsecured connection.",
                source="RFC 6265 section 5.4 (step 1)",
                wants=site.urls("/third"),
                judge=_never(
                    "sent a Secure cookie over an unsecured connection",
                    lambda visit: not visit.is_secure and "guarded=1" in visit.field("cookie"),
                ),
            ),
        ),
    )


def _distrusted(web: Web, host: str, name: str, says: str) -> Trial:
    """A site without TLS links and redirects to itself with TLS, where its certificate is bad."""
    site = web.site(host.removesuffix(f".{DOMAIN}"))
    secure = site.url().replace("http:", "https:")
    site.redirect("/to/secure", f"{secure}redirected", 302)
    site.page("/", "/plain", "/to/secure", f"{secure}linked")
    site.pages(("/plain", "/linked", "/redirected"))
    return Trial(
        seed=site.url(),
        needs_tls=True,
        cases=(
            Case(
                name=name,
                says=says,
                source="RFC 9110 section 4.3.4; RFC 5280 section 6; RFC 9525 section 6",
                wants=site.urls("/plain", "/to/secure"),
                judge=_never("made a request of a server that nobody vouches for", lambda visit: visit.is_secure),
            ),
        ),
    )


@trial("safety")
def expired_certificate(web: Web) -> Trial:
    """A certificate that was good until yesterday."""
    return _distrusted(web, EXPIRED, "expired-certificate", "A server with an expired certificate is sent no request.")


@trial("safety")
def wrong_name(web: Web) -> Trial:
    """A certificate for another name."""
    return _distrusted(web, WRONG_NAME, "wrong-name", "A server with the certificate of another is sent no request.")


@trial("safety")
def self_signed(web: Web) -> Trial:
    """A certificate that vouches for itself."""
    return _distrusted(web, SELF_SIGNED, "self-signed", "A server that signs its own certificate is sent no request.")
