"""The web server: search pages, pages about a collection, and an API, for `periplus serve`.

`served` is what is served: collections by name, opened when they are first used, and the settings of the server. `app`
puts the routes of its siblings together (`app.MODULES`), does what holds for every request and turns errors into pages
or JSON; `auth` authenticates requests, `routing` states the audience of each route, `rendering` makes pages from
`pages/*.html`, `running` runs all of it in uvicorn. Needs the extra `web`; `extra` raises an error if it is missing.

How a module adds pages:

    from .routing import Audience, Operation, Parameter, route
    from .rendering import page
    from .served import chosen_collection

    def routes() -> list[Route]:
        return [
            route("/sites", _sites, audience=Audience.VIEWER, is_page=True),
            route("/sites/pause", _pause, audience=Audience.OPERATOR, methods=("POST",)),
            route("/api/sites", _sites_json, audience=Audience.VIEWER, operation=Operation(
                "The sites of a collection.", (Parameter("collection", "Its name."),), tuple[Site, ...])),
        ]

    NAVIGATION = (Link("Sites", "/sites", Audience.VIEWER),)      # optional: in the bar of every page

    def _sites(request: Request) -> Response:                     # `def` runs in a thread, `async def` in the loop
        collection = chosen_collection(request)                   # `?collection=NAME`, by default the first; else 404
        return page(request, "sites.html", sites=...)             # autoescaped; the template extends `base.html`

The name of the module goes into `app.MODULES`. A module may have `lifespan(served)`, an asynchronous context manager
that is entered when the server starts and left when it stops, and should look at `served.stopping` in long answers.

Audiences (`routing.Audience`): `ANYONE` (login, style sheet, receivers), `PUBLIC` (search: everyone with
`--public-search`, else viewers), `VIEWER` (reads), `OPERATOR` (changes something, or sees how results are made). On
127.0.0.1 without a token every request is the operator's.

Other sites: `app` refuses what their pages cause (`routing.is_foreign`), except for links to pages, which say
`route(..., is_page=True)`. What sends requests to other servers says `fetches=True`, and must be for POST.

POST: a browser sends `Origin: null` with a form of ours, because of `Referrer-Policy: no-referrer`; so a form carries
`{{ csrf_field() }}` and the endpoint reads it with `await form_of(request)`. A script of ours that uses `fetch` sends
its Origin and needs nothing; programs send `Authorization: Bearer TOKEN`, or JSON and no Origin.
`route(..., checks_origin=False, max_body=...)` is for receivers.

A header has 5 s, a body at most 1 MB and 30 s, an answer 30 s until it begins. A response may set its own
Content-Security-Policy and Cache-Control; otherwise `app` does. JSON is made by `rendering.json_response` from msgspec
values.
"""
