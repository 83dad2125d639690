"""The captures of a collection in the form of Common Crawl's columnar index: queries written for that run here.

Parquet with the flat schema of the public index, in folders `crawl=NAME/subset=SUBSET`, sorted by `url_surtkey`. The
subsets are those of Common Crawl: `warc` has answers with status 200, `robotstxt` all fetches of robots.txt,
`crawldiagnostics` everything else that was answered. `warc_filename` is relative to the collection, `warc_segment` the
number of the shard. Languages are those that pages declare.

Rows are written in the order of the tables first; DuckDB sorts them, on disk if they do not fit into memory.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct
from numpy.typing import NDArray
from publicsuffixlist import PublicSuffixList

from periplus.model import Url
from periplus.urls import fingerprint, fingerprints, host_of, site_of, surt

from ..tables import Spooled, scan
from ..warc.cdxj import mime_of
from ..warc.records import read_name
from .exporting import Committed, Exported
from .records import prepare_folder

_PART_1: Final = """
aa=aar ab=abk ae=ave af=afr ak=aka am=amh an=arg ar=ara as=asm av=ava ay=aym az=aze ba=bak be=bel bg=bul bi=bis
bm=bam bn=ben bo=bod br=bre bs=bos ca=cat ce=che ch=cha co=cos cr=cre cs=ces cu=chu cv=chv cy=cym da=dan de=deu
dv=div dz=dzo ee=ewe el=ell en=eng eo=epo es=spa et=est eu=eus fa=fas ff=ful fi=fin fj=fij fo=fao fr=fra fy=fry
ga=gle gd=gla gl=glg gn=grn gu=guj gv=glv ha=hau he=heb hi=hin ho=hmo hr=hrv ht=hat hu=hun hy=hye hz=her ia=ina
id=ind ie=ile ig=ibo ii=iii ik=ipk io=ido is=isl it=ita iu=iku ja=jpn jv=jav ka=kat kg=kon ki=kik kj=kua kk=kaz
kl=kal km=khm kn=kan ko=kor kr=kau ks=kas ku=kur kv=kom kw=cor ky=kir la=lat lb=ltz lg=lug li=lim ln=lin lo=lao
lt=lit lu=lub lv=lav mg=mlg mh=mah mi=mri mk=mkd ml=mal mn=mon mr=mar ms=msa mt=mlt my=mya na=nau nb=nob nd=nde
ne=nep ng=ndo nl=nld nn=nno no=nor nr=nbl nv=nav ny=nya oc=oci oj=oji om=orm or=ori os=oss pa=pan pi=pli pl=pol
ps=pus pt=por qu=que rm=roh rn=run ro=ron ru=rus rw=kin sa=san sc=srd sd=snd se=sme sg=sag sh=hbs si=sin sk=slk
sl=slv sm=smo sn=sna so=som sq=sqi sr=srp ss=ssw st=sot su=sun sv=swe sw=swa ta=tam te=tel tg=tgk th=tha ti=tir
tk=tuk tl=tgl tn=tsn to=ton tr=tur ts=tso tt=tat tw=twi ty=tah ug=uig uk=ukr ur=urd uz=uzb ve=ven vi=vie vo=vol
wa=wln wo=wol xh=xho yi=yid yo=yor za=zha zh=zho zu=zul iw=heb in=ind ji=yid
"""
"""ISO 639-1 with 639-3, and three codes that were withdrawn and are still used."""

_PART_2B: Final = """
alb=sqi arm=hye baq=eus bur=mya chi=zho cze=ces dut=nld fre=fra geo=kat ger=deu gre=ell ice=isl mac=mkd may=msa
mao=mri per=fas rum=ron slo=slk tib=bod wel=cym
"""
"""ISO 639-2/B with 639-3."""

_CODES: Final = dict(pair.split("=") for pair in (_PART_1 + _PART_2B).split())


def iso_639_3(tag: str | None) -> str | None:
    """The code of the language that a tag names; `None` if it names none."""
    code = (tag or "").strip().lower().replace("_", "-").partition("-")[0]
    if len(code) == 2:
        return _CODES.get(code)
    is_code = len(code) == 3 and code.isascii() and code.isalpha() and code != "und"
    return _CODES.get(code, code) if is_code else None


SUBSETS: Final = ("warc", "robotstxt", "crawldiagnostics")
ROWS_PER_GROUP: Final = 1_000_000
"""Rows of a row group, as in the public index."""
TOO_FAR: Final = "offset-too-large"
_MAX_NUMBER: Final = (1 << 31) - 1
"""The largest offset that the schema has room for."""
_ROWS_AT_ONCE: Final = 20_000

TEXT, NUMBER = pa.string(), pa.int32()
SCHEMA: Final = pa.schema(
    [
        pa.field("url_surtkey", TEXT, nullable=False),
        pa.field("url", TEXT, nullable=False),
        pa.field("url_host_name", TEXT, nullable=False),
        ("url_host_tld", TEXT),
        ("url_host_2nd_last_part", TEXT),
        ("url_host_3rd_last_part", TEXT),
        ("url_host_4th_last_part", TEXT),
        ("url_host_5th_last_part", TEXT),
        ("url_host_registry_suffix", TEXT),
        ("url_host_registered_domain", TEXT),
        ("url_host_private_suffix", TEXT),
        ("url_host_private_domain", TEXT),
        ("url_host_name_reversed", TEXT),
        pa.field("url_protocol", TEXT, nullable=False),
        ("url_port", NUMBER),
        pa.field("url_path", TEXT, nullable=False),
        ("url_query", TEXT),
        pa.field("fetch_time", pa.timestamp("ms", tz="UTC"), nullable=False),
        pa.field("fetch_status", pa.int16(), nullable=False),
        ("fetch_redirect", TEXT),
        ("content_digest", TEXT),
        ("content_mime_type", TEXT),
        ("content_mime_detected", TEXT),
        ("content_charset", TEXT),
        ("content_languages", TEXT),
        ("content_truncated", TEXT),
        pa.field("warc_filename", TEXT, nullable=False),
        pa.field("warc_record_offset", NUMBER, nullable=False),
        pa.field("warc_record_length", NUMBER, nullable=False),
        pa.field("warc_segment", TEXT, nullable=False),
    ]
)
"""The flat schema; `crawl` and `subset` are in the names of folders."""

_FETCHES: Final = [
    "url", "purpose", "status", "outcome", "started_at", "ended_at", "content_type", "target", "is_truncated",
    "digest", "warc_file", "warc_offset", "warc_length",
]  # fmt: skip
_PAGES: Final = ["url", "read_at", "language", "charset", "mime"]


def export_columns(collection: Path, folder: Path, crawl: str, committed: Committed) -> Exported:
    """Write the index of a collection into a folder that is new or empty; `crawl` is the name of the partition."""
    prepare_folder(folder)
    drafts = folder / ".rows"
    drafts.mkdir()
    try:
        counts, too_far = _write_rows(collection / "tables", committed.spooled, drafts)
        for subset, rows in counts.items():
            if rows:
                _sort(drafts / subset, folder / f"crawl={crawl}" / f"subset={subset}", drafts / "spill")
    finally:
        shutil.rmtree(drafts, ignore_errors=True)
    return Exported(sum(counts.values()), {TOO_FAR: too_far} if too_far else {})


def _write_rows(tables: Path, spooled: Sequence[Spooled], drafts: Path) -> tuple[dict[str, int], int]:
    pages = _PageFacts(tables, spooled)
    writers = {subset: pq.ParquetWriter(drafts / subset, SCHEMA, compression="zstd") for subset in SUBSETS}
    counts, too_far = dict.fromkeys(SUBSETS, 0), 0
    try:
        for batch in scan(tables, "fetches", spooled=spooled, columns=_FETCHES):
            for start in range(0, batch.num_rows, _ROWS_AT_ONCE):
                rows: dict[str, list[dict[str, Any]]] = {subset: [] for subset in SUBSETS}
                for row in batch.slice(start, _ROWS_AT_ONCE).to_pylist():
                    if row["warc_file"] is None:
                        continue
                    if row["warc_offset"] > _MAX_NUMBER:
                        too_far += 1
                        continue
                    rows[_subset(row)].append(_row(row, pages))
                for subset, some in rows.items():
                    if some:
                        writers[subset].write_table(pa.Table.from_pylist(some, SCHEMA))
                        counts[subset] += len(some)
    finally:
        for writer in writers.values():
            writer.close()
    return counts, too_far


def _sort(rows: Path, folder: Path, spill: Path) -> None:
    import duckdb  # takes a moment to load

    folder.mkdir(parents=True)
    with duckdb.connect(config={"temp_directory": str(spill), "threads": 2}) as connection:
        found = connection.sql(
            "select * from read_parquet($rows) order by url_surtkey, url, fetch_time", params={"rows": str(rows)}
        ).to_arrow_reader(_ROWS_AT_ONCE)
        with pq.ParquetWriter(folder / "part-00000.zstd.parquet", SCHEMA, compression="zstd") as writer:
            group: list[pa.RecordBatch] = []
            for batch in found:
                group.append(batch.cast(SCHEMA))
                if sum(each.num_rows for each in group) >= ROWS_PER_GROUP:
                    writer.write_table(pa.Table.from_batches(group, SCHEMA), ROWS_PER_GROUP)
                    group = []
            if group:
                writer.write_table(pa.Table.from_batches(group, SCHEMA), ROWS_PER_GROUP)


def _subset(row: Mapping[str, Any]) -> str:
    if row["purpose"] == "robots":
        return "robotstxt"
    return "warc" if row["status"] == 200 else "crawldiagnostics"


def _row(row: Mapping[str, Any], pages: _PageFacts) -> dict[str, Any]:
    url = row["url"]
    facts = pages.of(url, row["ended_at"])
    path, mark, query = url[url.index("/", 8) :].partition("?")
    name = read_name(row["warc_file"])
    digest = row["digest"] or ""
    return {
        **_host_columns(host_of(url)),
        "url_surtkey": surt(url),
        "url": url,
        "url_protocol": url.partition(":")[0],
        "url_port": _port(site_of(url)),
        "url_path": path,
        "url_query": query if mark else None,
        "fetch_time": row["started_at"],
        "fetch_status": row["status"] or (304 if row["outcome"] == "not_modified" else 0),
        "fetch_redirect": row["target"],
        "content_digest": digest.removeprefix("sha1:") or None,
        "content_mime_type": mime_of(row["content_type"]) if row["content_type"] else None,
        "content_mime_detected": facts.mime,
        "content_charset": facts.charset,
        "content_languages": iso_639_3(facts.language),
        "content_truncated": "length" if row["is_truncated"] else None,
        "warc_filename": f"warc/{row['warc_file']}",
        "warc_record_offset": row["warc_offset"],
        "warc_record_length": row["warc_length"],
        "warc_segment": str(name.shard if name else 0),
    }


def _port(site: str) -> int | None:
    _, colon, port = site.rpartition(":")
    return int(port) if colon and port.isdecimal() else None


@cache
def _registry() -> PublicSuffixList:
    """The suffixes of registries alone, without the private section of the list."""
    return PublicSuffixList(only_icann=True)


@cache
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()


@lru_cache(65_536)
def _host_columns(host: str) -> dict[str, str | None]:
    """The columns that only depend on the host. An address has neither labels nor suffixes."""
    if host.endswith("]") or host.rpartition(".")[2].isdecimal():
        return {"url_host_name": host}
    labels = host.strip(".").split(".")[::-1]
    parts = [*labels[:5], *[None] * (5 - len(labels))]
    registry, private = _registry(), _suffixes()
    return {
        "url_host_name": host,
        "url_host_tld": parts[0],
        "url_host_2nd_last_part": parts[1],
        "url_host_3rd_last_part": parts[2],
        "url_host_4th_last_part": parts[3],
        "url_host_5th_last_part": parts[4],
        "url_host_registry_suffix": registry.publicsuffix(host),
        "url_host_registered_domain": registry.privatesuffix(host),
        "url_host_private_suffix": private.publicsuffix(host),
        "url_host_private_domain": private.privatesuffix(host),
        "url_host_name_reversed": ".".join(labels),
    }


class _Facts(Struct, frozen=True):
    language: str | None = None
    charset: str | None = None
    mime: str | None = None


_NO_FACTS: Final = _Facts()


class _PageFacts:
    """What pages state about themselves, by URL and time: 20 bytes a page, and each combination of facts once."""

    def __init__(self, tables: Path, spooled: Sequence[Spooled]) -> None:
        keys, times, places = [np.empty(0, np.uint64)], [np.empty(0, np.int64)], [np.empty(0, np.int32)]
        numbers: dict[_Facts, int] = {}
        for batch in scan(tables, "pages", spooled=spooled, columns=_PAGES):
            keys.append(np.array(fingerprints(batch["url"].to_pylist()), np.uint64))
            times.append(batch["read_at"].cast(pa.int64()).to_numpy(zero_copy_only=False))
            facts = (numbers.setdefault(each, len(numbers)) for each in _facts_in(batch))
            places.append(np.fromiter(facts, np.int32, batch.num_rows))
        key, time, place = np.concatenate(keys), np.concatenate(times), np.concatenate(places)
        order = np.lexsort((time, key))
        self._keys: NDArray[np.uint64] = key[order]
        self._times: NDArray[np.int64] = time[order]
        self._places: NDArray[np.int32] = place[order]
        self._facts = list(numbers)

    def of(self, url: str, ended_at: Any) -> _Facts:
        """The facts of the version that was read when this fetch ended."""
        wanted = np.uint64(fingerprint(Url(url)))
        first = int(np.searchsorted(self._keys, wanted, "left"))
        end = int(np.searchsorted(self._keys, wanted, "right"))
        moment = round(ended_at.timestamp() * 1e6)
        place = first + int(np.searchsorted(self._times[first:end], moment, "left"))
        if place < end and self._times[place] == moment:
            return self._facts[int(self._places[place])]
        return _NO_FACTS


def _facts_in(batch: pa.RecordBatch) -> Iterator[_Facts]:
    columns = (batch[name].to_pylist() for name in ("language", "charset", "mime"))
    for language, charset, mime in zip(*columns, strict=True):
        yield _Facts(language, charset, mime)
