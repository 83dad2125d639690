"""The careful reader of `<url>` and `<sitemap>` records: any order, any dirt, any extension.

It follows tags without demanding that they match. A record begins at its tag, ends at its end tag, at the next record
or at a second `<loc>`; a field ends at its end tag or where another begins; what it does not know it passes over. So
the worst that a wrong tag does is to cost the field it is in. A `<sitemap>` is a child and a `<url>` an entry even in a
document of the other kind: two documents in one file, or the wrong root.

Reasons: "bad-markup", "missing-loc" (the record's bare text is taken if it is a URL), "repeated-loc" (read as another
record), "bad-namespace" (missing or not the protocol's; read anyway), "too-many-items", "truncated" (the document
ends inside a record or without its end tag; a record whose URL is complete is still given), and those of `fields`.
"""

from __future__ import annotations

from collections.abc import Sequence

from .extensions import SHAPES, Container
from .fields import EDGES, EntityRefusedError, Fields
from .markup import ElementText, Markup, attributes, split_name
from .outbox import Outbox
from .values import SITEMAP_NS, Alternate, Child, Entry, Image, Kind, News, Video

_CORE = frozenset({"loc", "lastmod", "changefreq", "priority"})
_RECORDS = {Kind.URLSET: "url", Kind.INDEX: "sitemap"}
_TAGS = frozenset(_RECORDS.values())
_ROOTS = frozenset({"urlset", "sitemapindex"})
_LINK_TO = ("", "alternate")
_ENDED = "/"
_ROOM = 1024 * 1024
"""Characters that the images, videos, articles and alternates of one record may hold together."""


class Record:
    """One `<url>` or `<sitemap>` (its `tag`) while its elements arrive."""

    def __init__(self, prefix: str, tag: str) -> None:
        self.prefix = prefix
        self.tag = tag
        self.texts: dict[str, str] = {}
        self.bare = ""
        self.room = _ROOM
        self.images: list[Image] = []
        self.videos: list[Video] = []
        self.news: list[News] = []
        self.alternates: list[Alternate] = []

    @property
    def is_empty(self) -> bool:
        """Whether it may have been something else: a root of that name."""
        return not (self.texts or self.bare)

    def add_bare(self, raw: str, limit: int) -> None:
        """Keep text outside of elements, in case the record has no other URL."""
        if len(self.bare) < limit:
            self.bare += raw[:limit]


class Records:
    """Reads one urlset or index, in portions of text."""

    def __init__(self, kind: Kind, fields: Fields, outbox: Outbox) -> None:
        self._tag = _RECORDS.get(kind, "url")
        self._fields = fields
        self._outbox = outbox
        self._markup = Markup(self, fields)
        self._namespaces: dict[str, str] = {}
        self._record: Record | None = None
        self._container: Container | None = None
        self._capture = ElementText(fields)
        self._skipping = 0
        self._nested = 0
        self._root = ""

    @property
    def pending(self) -> int:
        """Characters that wait for what follows them."""
        return self._markup.pending

    @property
    def is_between_records(self) -> bool:
        """Whether the next character begins something new, so that anyone may read the record that follows."""
        return self._record is None and self._markup.is_between_tags

    def feed(self, text: str, *, is_last: bool = False, is_followed: bool = False) -> None:
        """Read on; `is_followed` if a tag is known to come next."""
        self._markup.feed(text, is_last=is_last, is_followed=is_followed)
        if is_last:
            self._finish()

    def leaf(self, prefix: str, local: str, raw: str) -> bool:
        """Most elements are as simple as this: the short way to what `open`, `text` and `close` would do."""
        record = self._record
        if record is None or self._skipping or self._capture.name or not self._is_plain(raw):
            return False
        if self._container is not None:
            if local not in self._container.shape.elements:
                return False
            self._fill(record, self._container, local, raw)
        elif local in _CORE and prefix == record.prefix and (local != "loc" or "loc" not in record.texts):
            record.texts[local] = raw
        else:
            return False
        return True

    def _is_plain(self, raw: str) -> bool:
        return "&" not in raw and "\r" not in raw and len(raw) <= self._fields.limits.text

    def text(self, raw: str, *, is_decoded: bool) -> None:
        """Take in text, if we are in an element whose text we want."""
        if self._skipping:
            return
        if self._capture.name:
            self._capture.add(raw, is_decoded=is_decoded)
        elif self._record is not None and self._container is None and raw and not raw.isspace():
            self._record.add_bare(raw, self._fields.limits.text)

    def open(self, prefix: str, local: str, attrs: str) -> None:
        """Enter a record, a container, a field, or something to pass over."""
        if local == self._tag and self._is_core(prefix):
            self._open_record(prefix)
        elif self._record is None or (local in _TAGS and self._record.is_empty and not self._capture.name):
            self._open_outside(prefix, local, attrs)
        elif self._skipping:
            self._skipping += 1
        elif self._container is not None:
            self._open_in_container(self._container, local, attrs)
        else:
            self._open_in_record(self._record, prefix, local, attrs)

    def _open_record(self, prefix: str) -> None:
        if self._capture.name == "loc" and self._capture.is_blank and self._container is None:
            self._nested += 1  # <loc><url>http://...</url></loc>
            return
        if self._record is not None:
            self._fields.complain("bad-markup", f"a record without end before <{self._tag}>")
            self._end_record()
        self._record = Record(prefix, self._tag)
        self._root = self._root or _ENDED  # a fragment has no root that could end

    def _open_outside(self, prefix: str, local: str, attrs: str) -> None:
        if local == "loc":
            self._fields.complain("bad-markup", f"<loc> outside <{self._tag}>")
            self._record = Record(prefix, self._tag)
            self._capture.begin(local)
            return
        if local in _TAGS:
            self._fields.complain("bad-markup", f"<{local}> instead of <{self._tag}>")
            self._record = Record(prefix, local)
            return
        if not self._root:
            self._root = local
            for name, value in attributes(attrs).items():
                if name.startswith("xmlns"):
                    self._namespaces[name[6:]] = value
            if local in _ROOTS and self._namespaces.get(prefix) != SITEMAP_NS:
                self._fields.complain("bad-namespace", self._namespaces.get(prefix, ""))

    def _open_in_container(self, container: Container, local: str, attrs: str) -> None:
        if local in container.shape.elements:
            self._begin(local)
            if attrs and local in ("restriction", "platform"):
                container.relations[local] = attributes(attrs).get("relationship", "allow")
        elif local not in container.shape.groups and not self._capture.name:
            self._skipping = 1

    def _open_in_record(self, record: Record, prefix: str, local: str, attrs: str) -> None:
        if local in _CORE and self._is_core(prefix):
            self._begin(local)
        elif local in SHAPES and record.tag == "url":
            self._end_field()
            self._container = Container(local)
        elif local == "link":
            self._alternate(record, attrs)
        elif local == "title":
            self._begin(local)
        elif not self._capture.name:
            self._skipping = 1

    def _is_core(self, prefix: str) -> bool:
        """Whether this is the prefix of the record that we are in, or another for the same namespace."""
        if self._record is None or prefix == self._record.prefix:
            return True
        namespace = self._namespaces.get(prefix)
        return namespace is not None and namespace == self._namespaces.get(self._record.prefix)

    def _alternate(self, record: Record, attrs: str) -> None:
        found = {split_name(name)[1]: value for name, value in attributes(attrs).items()}
        if found.get("rel", "").strip().lower() not in _LINK_TO or not self._has_room(record.alternates):
            return
        try:
            href = self._fields.url(self._fields.decoded(found.get("href", "")))
            hreflang = self._fields.decoded(found.get("hreflang", "")).strip(EDGES)
            media = self._fields.decoded(found.get("media", "")).strip(EDGES)
        except EntityRefusedError as refused:
            self._fields.complain("entity-refused", str(refused))
            return
        if href is not None and self._takes(record, len(href) + len(hreflang) + len(media)):
            record.alternates.append(Alternate(href, hreflang, media))

    def _has_room(self, items: Sequence[object]) -> bool:
        if len(items) < self._fields.limits.items:
            return True
        self._fields.complain("too-many-items", f"more than {self._fields.limits.items}")
        return False

    def _takes(self, record: Record, size: int) -> bool:
        """Whether the record has room for `size` more characters."""
        record.room -= size
        if record.room >= 0:
            return True
        self._fields.complain("too-many-items", f"more than {_ROOM} characters")
        return False

    def _fill(self, record: Record, container: Container, name: str, text: str) -> None:
        if self._takes(record, len(text)):
            container.add(name, text, self._fields.limits.items)

    def _begin(self, local: str) -> None:
        if self._capture.name and not self._capture.is_blank:
            self._fields.complain("bad-markup", f"<{self._capture.name}> without end before <{local}>")
            self._end_field()
        self._capture.begin(local)

    def close(self, prefix: str, local: str) -> None:
        """Leave what this ends, and whatever was not ended inside of it."""
        tag = self._tag if self._record is None else self._record.tag
        if local == tag and self._is_core(prefix):
            self._close_record()
        elif self._container is not None and local == self._container.name:
            self._skipping = 0
            self._end_container()
        elif self._skipping:
            self._skipping -= 1
        elif local == self._capture.name:
            self._end_field()
        elif local == self._root:
            self._root = _ENDED
            if self._record is not None:
                self._fields.complain("bad-markup", f"a record without end before </{local}>")
                self._end_record()

    def _close_record(self) -> None:
        if self._nested:
            self._nested -= 1
        elif self._record is None:
            self._fields.complain("bad-markup", f"</{self._tag}> without beginning")
        else:
            self._end_record()

    def _end_field(self) -> None:
        name = self._capture.name
        if not name or self._record is None:
            return
        text = self._capture.end()
        if self._container is not None:
            self._fill(self._record, self._container, name, text)
        elif name != "loc" or not self._record.texts.get("loc"):
            self._record.texts[name] = text
        elif text:
            self._fields.complain("repeated-loc", text)
            self._emit(self._record)
            self._record = Record(self._record.prefix, self._record.tag)
            self._record.texts["loc"] = text

    def _end_container(self) -> None:
        self._end_field()
        container, self._container = self._container, None
        if container is None or self._record is None:
            return
        match container.value(self._fields):
            case Image() as image if self._has_room(self._record.images):
                self._record.images.append(image)
            case Video() as video if self._has_room(self._record.videos):
                self._record.videos.append(video)
            case News() as news if self._has_room(self._record.news):
                self._record.news.append(news)

    def _end_record(self) -> None:
        self._skipping = self._nested = 0
        self._end_container()
        self._end_field()
        record, self._record = self._record, None
        if record is not None:
            self._emit(record)

    def _emit(self, record: Record) -> None:
        fields, texts = self._fields, record.texts
        url = fields.url(texts["loc"]) if texts.get("loc") else self._bare_url(record)
        if url is None:
            return
        lastmod = fields.lastmod(texts.get("lastmod", ""))
        if record.tag == "sitemap":
            self._outbox.put(Child(url, lastmod))
            return
        self._outbox.put(
            Entry(
                url,
                lastmod,
                fields.changefreq(texts.get("changefreq", "")),
                fields.priority(texts.get("priority", "")),
                fields.text(texts.get("title", "")),
                tuple(record.images),
                tuple(record.videos),
                tuple(record.news),
                tuple(record.alternates),
            )
        )

    def _bare_url(self, record: Record) -> str | None:
        """Some write the URL into the record itself."""
        bare = record.bare.strip(EDGES)
        self._fields.complain("missing-loc", bare)
        if not bare.lower().startswith(("http://", "https://")):
            return None
        try:
            return self._fields.url(self._fields.decoded(bare))
        except EntityRefusedError as refused:
            self._fields.complain("entity-refused", str(refused))
            return None

    def _finish(self) -> None:
        """End the document: an open record whose URL is complete is given, its open element is not."""
        if self._record is None and self._root == _ENDED:
            return
        self._fields.complain("truncated")
        if self._record is None:
            return
        if self._markup.ends_inside_tag:
            self._end_field()
        self._capture.name = ""
        self._container = None
        if self._record.texts.get("loc"):
            self._end_record()
