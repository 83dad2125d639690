"""How large a site's description of itself is: Brandman et al. (2000), section 3, with archives that we really write.

The paper assumes a description of 64 bytes, compressed to a third, on pages of 13 KB. We make sites with paths as long
as it supposes (some thirty characters: two directories with several files in each, invented words), sizes around its
mean and dates over some years, and measure what `formats.metadata_archive` makes of them. A kilobyte is 1,024 bytes:
only so are the paper's numbers consistent.
"""

from __future__ import annotations

from collections.abc import Sequence
from zlib import decompress

import numpy as np

from periplus.formats.metadata_archive import SEGMENT, Archive, ArchiveEntry, write
from periplus.lab.web.vocabulary import topics

from .findings import Finding, finding

PAGES = 100_000
KILOBYTE = 1_024
PAGE_BYTES = 13 * KILOBYTE
TYPES = {"text/html": 0.5, "image/gif": 0.2, "image/jpeg": 0.14, "text/plain": 0.08, "application/pdf": 0.08}
_ENDINGS = {"text/html": "html", "image/gif": "gif", "image/jpeg": "jpg", "text/plain": "txt", "application/pdf": "pdf"}
_LONGEST_WORD = 9
_FILES_A_DIRECTORY = 10
_MEAN_AGE = 365 * 86_400.0
_NOW = 949_363_200.0  # 1 February 2000, when the paper was written: a date has as many characters on any day


def generated_entries(pages: int, seed: int, types: dict[str, float] | None = None) -> list[ArchiveEntry]:
    """The pages of a site: `people/pictures/colorbars12.gif`, more or less, from invented words."""
    random = np.random.default_rng(seed)
    words = [word.decode() for word in topics() if len(word) <= _LONGEST_WORD]
    shares = TYPES if types is None else types
    kinds = random.choice(len(shares), pages, p=np.array(list(shares.values())) / sum(shares.values()))
    tree = random.integers(len(words), size=(max(pages // _FILES_A_DIRECTORY, 1), 2))
    directory = random.integers(len(tree), size=pages)
    name, number = random.integers(len(words), size=pages), random.integers(100, size=pages)
    modified_at = _NOW - random.exponential(_MEAN_AGE, pages)
    sizes = np.minimum(random.lognormal(np.log(PAGE_BYTES) - 0.5, 1.0, pages), 99_999)
    mimes = list(shares)
    return [
        ArchiveEntry(
            f"{'/'.join(words[part] for part in tree[directory[page]])}/{words[name[page]]}{number[page]}"
            f".{_ENDINGS[mimes[kinds[page]]]}",
            float(modified_at[page]),
            int(sizes[page]),
            mimes[kinds[page]],
        )
        for page in range(pages)
    ]


def archive_findings(seeds: Sequence[int] = range(3), pages: int = PAGES) -> list[Finding]:
    """The statements of section 3 about sizes, compared with our own archives."""
    sites = [list(write(generated_entries(pages, seed))) for seed in seeds]
    one_type = [list(write(generated_entries(10 * SEGMENT, seed, {"text/html": 1.0}))) for seed in seeds]
    raw = [_raw_bytes(site) / pages for site in sites]
    packed = np.array([_packed_bytes(site) / pages for site in sites])
    largest = [_packed_bytes(site) / len(site) / KILOBYTE for site in one_type]
    counts = [float(len(site)) for site in sites]
    expected = 5.0 * -(-pages // SEGMENT)
    because = "the paper supposes that text shrinks to a third; ours is measured on invented paths"
    return [
        finding("Section 3.2: a description", 64, raw, "bytes", tolerance=6, note="a path of about 30 characters"),
        finding("Section 3.2: a description, compressed", 22, packed.tolist(), "bytes", tolerance=3, note=because),
        finding(
            "Section 3.2: descriptions in a kilobyte", 48, (KILOBYTE / packed).tolist(), "", tolerance=6, note=because
        ),
        finding(f"Section 3.3: an archive of {SEGMENT:,}", 42, largest, "KB", tolerance=5, note=because),
        finding(f"Section 3.3: archives of {pages:,} pages", expected, counts, "", note="five types, all common"),
        finding(
            "Section 3.4: metadata for data",
            0.16,
            (packed / PAGE_BYTES * 100).tolist(),
            "%",
            tolerance=0.03,
            note="pages of 13 KB, as the paper measured",
        ),
    ]


def _raw_bytes(archives: list[Archive]) -> int:
    return sum(len(decompress(archive.body, 31)) for archive in archives)


def _packed_bytes(archives: list[Archive]) -> int:
    return sum(len(archive.body) for archive in archives)
