"""Decides which files a crawl fetches, by media type or by the extension of the URL.

One list of types (`[media] types`) decides which archives and entries are read, which embedded files of pages are
followed, which extensions are not refused, and which bodies are downloaded. Without types a crawl is for pages, and
only pages are read from archives.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Final

from msgspec import Struct

from periplus.model import ConfigError, Discovery, Reject, Source, Url, Verdict
from periplus.model.flags import Flag

from .reasons import ACCEPT

PAGE_TYPES: Final = ("text/html", "application/xhtml+xml", "text/plain")
"""Types of pages in archives."""

PDF: Final = "application/pdf"

_HTML: Final = frozenset({"text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml"})
_TYPE: Final = re.compile(r"[a-z0-9][a-z0-9.+-]{0,62}/(?:\*|[a-z0-9][a-z0-9.+_-]{0,62})")
_LONGEST: Final = 5
"""Letters of the longest extension in `_OF_EXTENSION`."""
_OF_EXTENSION: Final = {
    extension: mime
    for mime, extensions in {
        "image/jpeg": "jpg jpeg jpe jfif",
        "image/png": "png",
        "image/gif": "gif",
        "image/webp": "webp",
        "image/avif": "avif",
        "image/bmp": "bmp",
        "image/x-icon": "ico",
        "image/svg+xml": "svg svgz",
        "image/tiff": "tif tiff",
        "image/heic": "heic heif",
        "audio/mpeg": "mp3",
        "audio/mp4": "m4a",
        "audio/ogg": "ogg oga opus",
        "audio/wav": "wav",
        "audio/flac": "flac",
        "audio/aac": "aac",
        "video/mp4": "mp4 m4v",
        "video/x-msvideo": "avi",
        "video/quicktime": "mov",
        "video/x-matroska": "mkv",
        "video/webm": "webm",
        "video/mpeg": "mpg mpeg mpe",
        "video/ogg": "ogv",
        "video/3gpp": "3gp",
        "application/pdf": "pdf",
        "application/msword": "doc",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
        "application/vnd.ms-excel": "xls",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
        "application/vnd.ms-powerpoint": "ppt",
        "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
        "application/vnd.oasis.opendocument.text": "odt",
        "application/rtf": "rtf",
        "application/epub+zip": "epub",
        "application/zip": "zip",
        "application/gzip": "gz tgz",
        "application/json": "json",
        "application/xml": "xml",
        "text/csv": "csv",
        "text/tab-separated-values": "tsv",
        "text/css": "css",
        "text/plain": "txt",
        "text/html": "html htm",
    }.items()
    for extension in extensions.split()
}
"""The type that files with an extension have."""


class MediaSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """A crawl for files of some types, instead of pages."""

    types: Annotated[
        tuple[str, ...],
        Flag(
            "--media",
            'Fetch files of this type, such as "image/*", instead of pages. May be repeated.',
            "TYPE",
            verbs=("crawl", "map"),
            separator=",",
        ),
    ] = ()
    """Media types to fetch, such as "image/*"; empty: pages."""
    html: bool = True
    """Crawl pages for embedded files where a site lists none in archives or sitemaps."""
    max_file_bytes: int = 64 * 2**20
    """Maximum bytes of a file; the rest is cut off."""
    pdf: Annotated[bool, Flag("--pdf/--no-pdf", "Fetch PDFs beside pages; search and exports read their text.")] = False
    """Fetch PDFs beside pages: search and exports read their text. Files may have `max_file_bytes`."""


class MediaTypes:
    """The types that a crawl is for; false if it is for pages."""

    def __init__(self, settings: MediaSettings | None = None) -> None:
        self.settings = settings or MediaSettings()
        self.types = tuple(dict.fromkeys(one.strip().lower() for one in self.settings.types))
        for one in self.types:
            if not _TYPE.fullmatch(one) or one in _HTML:
                raise ConfigError(
                    f"types must be media types of files, got {one[:80]!r}", hint="write image/*, or application/pdf"
                )
        if self.settings.max_file_bytes < 1:
            raise ConfigError(f"max_file_bytes must be at least 1, got {self.settings.max_file_bytes}")
        self._exact = frozenset(self.types)
        self._groups = tuple(one[:-1] for one in self.types if one.endswith("/*"))

    def __bool__(self) -> bool:
        return bool(self.types)

    @property
    def listed(self) -> tuple[str, ...]:
        """Types to read from archives: these, or those of pages."""
        return self.types or PAGE_TYPES

    def accepted(self, pages: Sequence[str]) -> tuple[str, ...]:
        """Types whose bodies are downloaded, given those of pages."""
        beside = (PDF,) if self.settings.pdf else ()
        if not self.types:
            return (*pages, *beside)
        return (*self.types, *pages, *beside) if self.settings.html else self.types

    def wants(self, mime: str) -> bool:
        """Whether a file of this type is what the crawl is for."""
        return bool(self.types) and _is_one_of(mime.lower(), self._exact, self._groups)

    def wants_extension(self, extension: str) -> bool:
        """Whether files with this extension (without the dot) are fetched."""
        mime = _OF_EXTENSION.get(extension.lower(), "")
        return self.wants(mime) or (self.settings.pdf and mime == PDF)

    def wants_url(self, url: str, declared: str = "") -> bool:
        """The same by the end of a URL; if that says nothing, by the `declared` type or group, such as `image/*`."""
        named = type_of_url(url)
        if named or not declared:
            return self.wants(named)
        group = declared.removesuffix("*")
        return any(one == declared or one.startswith(group) for one in self.types)

    def wants_entry(self, path: str, mime: str) -> bool:
        """Whether an entry of an archive is to be fetched, by its type; if it has none, by its path."""
        if not self.types:
            return not mime or mime in PAGE_TYPES
        return self.wants(mime) if mime else self.wants_url(path)


def type_of_url(url: str) -> str:
    """The type that the end of a URL's path stands for; empty if it has no known extension."""
    path = url.partition("?")[0].partition("#")[0].rpartition("/")[2]
    _, dot, extension = path.rpartition(".")
    return _OF_EXTENSION.get(extension.lower(), "") if dot and len(extension) <= _LONGEST else ""


def type_of_header(value: str | None) -> str:
    """The type in a Content-Type field, without its parameters."""
    return "" if value is None else value.partition(";")[0].strip().lower()


@lru_cache(maxsize=1024)
def _is_one_of(mime: str, exact: frozenset[str], groups: tuple[str, ...]) -> bool:
    return mime in exact or (bool(groups) and mime.startswith(groups))


_PICTURES = "jpg jpeg jpe jfif png gif webp avif bmp ico svg svgz tif tiff heic heif psd eps cr2 nef xcf"
_SOUNDS = "mp3 m4a ogg oga opus wav flac aac wma aif aiff mid midi m3u m3u8"
_FILMS = "mp4 m4v avi mov mkv webm mpg mpeg mpe wmv flv f4v ogv 3gp vob swf"
_ARCHIVES = "zip gz tgz bz2 tbz xz txz zst lzma 7z rar tar jar whl egg gem cab cpio warc wacz torrent"
_PROGRAMS = "exe msi dll dmg pkg deb rpm apk ipa iso pyc crx xpi appimage"
_PARTS = "css wasm woff woff2 ttf otf eot"
_DOCUMENTS = "pdf doc docx docm xls xlsx xlsm ppt pptx pps odt ods odp rtf epub mobi azw djvu"
_DATA = "csv tsv parquet sqlite dbf shp kmz h5 hdf5 npy npz pkl"

NEVER_PAGES = tuple(" ".join((_PICTURES, _SOUNDS, _FILMS, _ARCHIVES, _PROGRAMS, _PARTS, _DOCUMENTS, _DATA)).split())
"""The extensions refused by default."""

_LONGEST_EXTENSION = 16


class ExtensionSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Which extensions are not wanted."""

    refused: tuple[str, ...] = NEVER_PAGES
    """Without the dot, in any letter case."""


class Extensions:
    """Refuses URLs whose path ends in one of these extensions: a guess from the name that saves a request.

    Reason: `extension`; the rule is the extension. Seeds are exempt, because the user named them, and so are names with
    a colon, which are pages about a file: `/wiki/File:Ship.jpg`. A crawl for media does not refuse the extensions of
    its types, nor URLs from archives and sitemaps, which were chosen by type when these were read. The default list
    leaves out extensions that pages have (`.aspx`, `.php`, `.cgi`, `.xml`, `.txt`, `.json`) and endings that titles
    have (`/wiki/Node.js`, `/wiki/U.S.A`). The wire checks the type that a server sends.
    """

    def __init__(self, settings: ExtensionSettings | None = None, media: MediaTypes | None = None) -> None:
        names = [name.lower().lstrip(".") for name in (settings or ExtensionSettings()).refused]
        for name in names:
            if not 0 < len(name) <= _LONGEST_EXTENSION or "/" in name or "." in name or "?" in name:
                raise ConfigError(
                    f"not an extension: {name[:40]!r}", hint="write it as it ends a path, without the dot: jpg"
                )
        self._refused = frozenset(name for name in names if media is None or not media.wants_extension(name))
        self._exempt = (Source.SEED, Source.ARCHIVE, Source.SITEMAP) if media else (Source.SEED,)
        self._longest = max(map(len, names), default=0)

    def unclear(self, urls: Sequence[Url]) -> list[int]:
        """The positions of URLs with a query, or with one of the extensions."""
        refused = self._refused
        return [place for place, url in enumerate(urls) if url.rpartition(".")[2].lower() in refused or "?" in url]

    def judge(self, discovery: Discovery) -> Verdict:
        """Judge a URL by what follows the last dot of its path."""
        url = discovery.url
        path = url if "?" not in url else url.partition("?")[0]
        extension = path.rpartition(".")[2]
        if len(extension) > self._longest or extension.lower() not in self._refused:
            return ACCEPT
        if discovery.source in self._exempt or ":" in path.rpartition("/")[2]:
            return ACCEPT
        return Reject("extension", extension.lower())
