"""One list of media types decides which files a crawl is for."""

from __future__ import annotations

import pytest
from tests.each_case import each_case

from periplus.collection.config.settings import Config
from periplus.model import ConfigError, Discovery, Reject, Source, Url
from periplus.policy.filters import Extensions, MediaSettings, MediaTypes

IMAGES = MediaTypes(MediaSettings(types=("image/*",)))


def test_types_and_groups() -> None:
    media = MediaTypes(MediaSettings(types=("image/*", "Application/PDF")))
    assert media.wants("image/avif")
    assert media.wants("application/pdf")
    assert not media.wants("application/zip")
    assert not media.wants("text/html")
    assert not MediaTypes()


@each_case(
    ("url", "declared", "is_wanted"),
    [
        ("https://a.test/x.PNG?v=2", "", True),
        ("https://a.test/x.pdf", "image/*", False),
        ("https://a.test/image?id=3", "image/*", True),
        ("https://a.test/image?id=3", "", False),
        ("https://a.test/clip", "video/*", False),
        ("https://png/", "", False),
    ],
)
def test_urls_by_their_end_else_by_what_is_declared(url: str, declared: str, is_wanted: bool) -> None:
    assert IMAGES.wants_url(url, declared) is is_wanted


def test_entries_of_archives_by_type_else_by_path() -> None:
    assert IMAGES.wants_entry("/x", "image/gif")
    assert not IMAGES.wants_entry("/x.gif", "text/html")
    assert IMAGES.wants_entry("/x.gif", "")
    assert MediaTypes().wants_entry("/x", "text/html")
    assert MediaTypes().wants_entry("/x", "")
    assert not MediaTypes().wants_entry("/x", "image/gif")


@each_case("types", [("images",), ("text/html",), ("*/*",), ("image/",)])
def test_what_is_not_a_type_of_files_is_an_error(types: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError, match="types must be media types"):
        MediaTypes(MediaSettings(types=types))
    with pytest.raises(ConfigError, match=r"\[media\]"):
        Config().with_options({"media.types": list(types)}).check()


def test_extensions_of_the_types_are_not_refused() -> None:
    link = Discovery(Url("https://a.test/x.png"), Source.LINK, 0.0)
    assert isinstance(Extensions().judge(link), Reject)
    assert not isinstance(Extensions(media=IMAGES).judge(link), Reject)
    other = Discovery(Url("https://a.test/x.zip"), Source.LINK, 0.0)
    assert isinstance(Extensions(media=IMAGES).judge(other), Reject)
    listed = Discovery(Url("https://a.test/x.zip"), Source.ARCHIVE, 0.0)
    assert not isinstance(Extensions(media=IMAGES).judge(listed), Reject)


def test_the_wire_takes_the_same_types() -> None:
    config = Config().with_options({"media.types": ["image/*"], "media.max_file_bytes": 1 << 30})
    assert config.transfers.accept_types == ("image/*", *Config().wire.accept_types)
    assert config.transfers.max_page_bytes == 1 << 30
    assert config.with_options({"media.html": False}).transfers.accept_types == ("image/*",)
    assert Config().transfers == Config().wire
