"""URLs that end like something other than a page: pictures, films, archives, programs.

Reason: `extension`; the rule is the extension. A guess from a name, made to save a request: what a server really
sends is judged by the wire from its headers. Seeds are exempt: the user asked for them. Left out on purpose are
extensions that pages hide behind (`.aspx`, `.php`, `.cgi`, `.xml`, `.txt`, `.json`), and endings that titles have
(`/wiki/Node.js`, `/wiki/U.S.A`). A name with a colon is a page about a file: `/wiki/File:Ship.jpg`. A crawl for media
(`media`) does not refuse the extensions of its types, nor what a site lists, which was chosen by type when it was read.
"""

from __future__ import annotations

from msgspec import Struct

from ...model import ConfigError, Discovery, Reject, Source, Verdict
from .media import MediaTypes
from .verdicts import ACCEPT

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

_LONGEST = 16


class ExtensionSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Which extensions are not wanted."""

    refused: tuple[str, ...] = NEVER_PAGES
    """Without the dot, in any letter case."""


class Extensions:
    """Refuses URLs whose path ends in one of these extensions."""

    def __init__(self, settings: ExtensionSettings | None = None, media: MediaTypes | None = None) -> None:
        names = [name.lower().lstrip(".") for name in (settings or ExtensionSettings()).refused]
        for name in names:
            if not 0 < len(name) <= _LONGEST or "/" in name or "." in name or "?" in name:
                raise ConfigError(
                    f"not an extension: {name[:40]!r}", hint="write it as it ends a path, without the dot: jpg"
                )
        self._refused = frozenset(name for name in names if not (media and media.wants_extension(name)))
        self._exempt = (Source.SEED, Source.ARCHIVE, Source.SITEMAP) if media else (Source.SEED,)
        self._longest = max(map(len, names), default=0)

    def judge(self, discovery: Discovery) -> Verdict:
        """By what follows the last dot of the path."""
        url = discovery.url
        path = url if "?" not in url else url.partition("?")[0]
        extension = path.rpartition(".")[2]
        if len(extension) > self._longest or extension.lower() not in self._refused:
            return ACCEPT
        if discovery.source in self._exempt or ":" in path.rpartition("/")[2]:
            return ACCEPT
        return Reject("extension", extension.lower())
