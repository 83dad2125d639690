"""ResourceSync documents (ANSI/NISO Z39.99-2017), written: sitemaps with one more namespace.

A source description links to a capability list, and that to a resource list (all resources) and a change list (those
created, updated and deleted). Harvesters of repositories read them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from .sitemap.values import SITEMAP_NS
from .sitemap.writing import INDEX_END, URLSET_END, escaped, moment

RS_NS: Final = "http://www.openarchives.org/rs/terms/"
WELL_KNOWN: Final = ".well-known/resourcesync"
"""Where harvesters look for the source description."""


class ListedResource(Struct, frozen=True):
    """A resource: its address, the time of its last change, its size in bytes and its media type."""

    url: str
    at: float | None
    size: int
    mime: str


class ResourceChange(Struct, frozen=True):
    """What happened to a resource: `created`, `updated` or `deleted`, and when it was noticed."""

    url: str
    kind: str
    at: float
    lastmod: float | None = None


def write_description(capability_list: str) -> bytes:
    """The source description, which names the capability list."""
    md = '<rs:md capability="capabilitylist"/>'
    return _document("description", f"<url><loc>{escaped(capability_list)}</loc>{md}</url>\n")


def write_capabilities(description: str, lists: Iterable[tuple[str, str]]) -> bytes:
    """The capability list: pairs of a capability and the address of its document."""
    records = "".join(
        f'<url><loc>{escaped(url)}</loc><rs:md capability="{capability}"/></url>\n' for capability, url in lists
    )
    return _document("capabilitylist", records, up=description)


def write_resources(resources: Iterable[ListedResource], at: float, capabilities: str) -> bytes:
    """A resource list: all resources of the site at a time."""
    records = "".join(
        f"<url><loc>{escaped(one.url)}</loc>{_lastmod(one.at)}"
        f'<rs:md length="{one.size}" type="{escaped(one.mime)}"/></url>\n'
        for one in resources
    )
    return _document("resourcelist", records, f' at="{moment(at)}"', up=capabilities)


def write_resource_index(lists: Iterable[str], at: float, capabilities: str) -> bytes:
    """The index of several resource lists."""
    records = "".join(f"<sitemap><loc>{escaped(url)}</loc></sitemap>\n" for url in lists)
    return _document("resourcelist", records, f' at="{moment(at)}"', up=capabilities, root="sitemapindex")


def write_changes(changes: Iterable[ResourceChange], from_at: float, until: float, capabilities: str) -> bytes:
    """A change list: what happened in a span of time, oldest first."""
    records = "".join(
        f"<url><loc>{escaped(one.url)}</loc>{_lastmod(one.lastmod)}"
        f'<rs:md change="{one.kind}" datetime="{moment(one.at)}"/></url>\n'
        for one in changes
    )
    span = f' from="{moment(from_at)}" until="{moment(until)}"'
    return _document("changelist", records, span, up=capabilities)


def _lastmod(at: float | None) -> str:
    return "" if at is None else f"<lastmod>{moment(at)}</lastmod>"


def _document(capability: str, records: str, more: str = "", *, up: str = "", root: str = "urlset") -> bytes:
    link = f'<rs:ln rel="up" href="{escaped(up)}"/>\n' if up else ""
    head = f'<?xml version="1.0" encoding="UTF-8"?>\n<{root} xmlns="{SITEMAP_NS}" xmlns:rs="{RS_NS}">\n'
    end = URLSET_END if root == "urlset" else INDEX_END
    return f'{head}{link}<rs:md capability="{capability}"{more}/>\n{records}{end}'.encode()
