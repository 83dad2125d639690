"""The application: routes of all modules, what holds for every request, and how errors are answered."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any, cast

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware as Layer
from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles

from periplus.model import PeriplusError

from .auth import Auth
from .failures import on_bug, on_http_error, on_known_error
from .middleware import Middleware
from .rendering import HERE
from .served import Served

MODULES = (
    "login",
    "search_page",
    "search_api",
    "cached",
    "sites_api",
    "browse",
    "live",
    "metrics",
    "receivers",
    "openapi",
)
"""The modules of this package with `routes()`, in the order of the navigation."""


def make_app(served: Served) -> Starlette:
    """The application that serves these collections."""
    modules = _modules()
    routes: list[BaseRoute] = [route for module in modules for route in module.routes()]
    routes.append(Mount("/static", StaticFiles(directory=HERE / "static")))
    app = Starlette(
        routes=routes,
        middleware=[Layer(Middleware, settings=served.settings)],
        exception_handlers=cast(
            "Any", {HTTPException: on_http_error, PeriplusError: on_known_error, Exception: on_bug}
        ),
        lifespan=lambda _app: _lifespan(served, modules),
    )
    app.state.served = served
    app.state.auth = Auth(served.settings)
    app.state.navigation = [link for module in modules for link in getattr(module, "NAVIGATION", ())]
    return app


@asynccontextmanager
async def _lifespan(served: Served, modules: list[ModuleType]) -> AsyncIterator[None]:
    async with AsyncExitStack() as stack:
        for module in modules:
            if hasattr(module, "lifespan"):
                await stack.enter_async_context(module.lifespan(served))
        stack.callback(served.close)
        yield


def _modules() -> list[ModuleType]:
    names = [f"{__package__}.{name}" for name in MODULES]
    return [import_module(name) for name in names if find_spec(name) is not None]
