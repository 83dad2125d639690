"""Log in with a token, and out; and a robots.txt that keeps crawlers out."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from .auth import SESSION, auth_of
from .rendering import page
from .routing import Audience, form_of, route


def routes() -> list[Route]:
    """The routes of this module."""
    return [
        route("/login", _form, audience=Audience.ANYONE, is_page=True),
        route("/login", _login, audience=Audience.ANYONE, methods=("POST",)),
        route("/robots.txt", _robots, audience=Audience.ANYONE),
        route("/logout", _logout, audience=Audience.ANYONE, methods=("POST",)),
    ]


def _robots(_request: Request) -> Response:
    return PlainTextResponse("User-agent: *\nDisallow: /\n")


def _form(request: Request) -> Response:
    return page(request, "login.html", next=own_path(request.query_params.get("next", "/")), wrong="")


async def _login(request: Request) -> Response:
    form, auth = await form_of(request), auth_of(request)
    target = own_path(form.get("next", "/"))
    if not auth.needs_token:
        return RedirectResponse(target, 303)
    try:
        audience = auth.check(form.get("token", "").strip(), request)
    except HTTPException as error:
        response: Response = page(request, "login.html", status=error.status_code, next=target, wrong=error.detail)
        response.headers.update(error.headers or {})
        return response
    response = RedirectResponse(target, 303)
    response.set_cookie(
        auth.cookie,
        auth.new_session(audience),
        max_age=SESSION,
        httponly=True,
        samesite="strict",
        secure=auth.is_secure(request),
    )
    return response


def _logout(request: Request) -> Response:
    response = RedirectResponse("/login", 303)
    response.delete_cookie(auth_of(request).cookie, httponly=True, samesite="strict")
    return response


def own_path(target: str) -> str:
    """Where to go after the login: a path of this server, or its first page if something else was given."""
    is_ours = target.startswith("/") and not target.startswith(("//", "/\\")) and target.isprintable()
    return target if is_ours and "\\" not in target else "/"
