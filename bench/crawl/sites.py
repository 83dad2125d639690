"""Which manuals are served: one Debian package, one loopback address.

Manuals and not a crawl of the web, because anyone can fetch the same bytes again, and because their pages were made by
many tools (Sphinx, DocBook, Doxygen, gtk-doc, Quickbook, texinfo, javadoc, by hand) for readers and not for us. A
loopback address is a host to every crawler and needs no resolver.
"""

from __future__ import annotations

from dataclasses import dataclass

PORT = 18080
SEED_HOST = "127.0.1.1"


@dataclass(frozen=True)
class Site:
    """A manual: the folder of an unpacked package that is served as the root of one host, and where links begin."""

    package: str
    root: str
    entries: tuple[str, ...] = ("index.html",)


def _sphinx(*packages: str) -> tuple[Site, ...]:
    """Packages that keep Debian's habit: the manual lies in `html` of the package's own folder."""
    return tuple(Site(package, f"usr/share/doc/{package}/html") for package in packages)


SITES: tuple[Site, ...] = (
    Site("python3.11-doc", "usr/share/doc/python3.11/html"),
    Site("postgresql-doc-15", "usr/share/doc/postgresql-doc-15/html"),
    Site("sqlite3-doc", "usr/share/doc/sqlite3"),
    Site("apache2-doc", "usr/share/doc/apache2-doc/manual"),
    Site("libboost1.74-doc", "usr/share/doc/libboost1.74-doc", ("doc/html/index.html",)),
    Site("libeigen3-doc", "usr/share/doc/libeigen3-dev/html"),
    Site("git-doc", "usr/share/doc/git-doc"),
    Site("nodejs-doc", "usr/share/doc/nodejs/api"),
    Site("tomcat10-docs", "usr/share/tomcat10-docs/docs"),
    Site("exim4-doc-html", "usr/share/doc/exim4-doc-html/spec_html"),
    Site("postfix-doc", "usr/share/doc/postfix/html"),
    Site("varnish-doc", "usr/share/doc/varnish/html"),
    Site("bind9-doc", "usr/share/doc/bind9-doc/arm"),
    Site("ntpsec-doc", "usr/share/doc/ntpsec-doc/html"),
    Site("freetype2-doc", "usr/share/doc/libfreetype-dev"),
    Site("libtiff-doc", "usr/share/doc/libtiff-doc/manual"),
    Site("libxml2-doc", "usr/share/gtk-doc/html/libxml2"),
    Site("libcairo2-doc", "usr/share/gtk-doc/html/cairo"),
    Site("libglib2.0-doc", "usr/share/gtk-doc/html", ("glib/index.html", "gobject/index.html", "gio/index.html")),
    Site("libgtk-3-doc", "usr/share/gtk-doc/html", ("gdk3/index.html", "gtk3/index.html")),
    Site("libsoup-3.0-doc", "usr/share/doc/libsoup-3.0"),
    Site("swig4.0-doc", "usr/share/doc/swig4.0-doc/Manual"),
    Site("python-lxml-doc", "usr/share/doc/python-lxml/html"),
    Site("python-markdown-doc", "usr/share/doc/python-markdown-doc/docs"),
    Site("debian-faq", "usr/share/doc/debian/FAQ", ("index.en.html",)),
    *_sphinx(
        "python-scipy-doc", "python-django-doc", "python-sqlalchemy-doc", "python-celery-doc", "python-kombu-doc",
        "python-cherrypy3-doc", "python-pil-doc", "python-gevent-doc", "python-tornado-doc", "python-tables-doc",
        "python-werkzeug-doc", "python-flask-doc", "python-h5py-doc", "python-cryptography-doc", "python-aiohttp-doc",
        "python-pygments-doc", "python-babel-doc", "python-requests-doc", "python-jinja2-doc", "python-psycopg2-doc",
        "python-mako-doc", "python-click-doc", "python-attr-doc", "sphinx-doc",
    ),
)  # fmt: skip


def host_of(number: int) -> str:
    """The address of the site at this place of the list; the seed page has the one before."""
    return f"127.0.1.{number + 2}"
