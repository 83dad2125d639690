"""The process that reads PDFs: a script on its own, which imports nothing of Periplus.

PDFium is written in C++, and some files make it abort, or read for hours. So it runs here, under limits of memory and
of processor time for each file, and `pdf_reader` replaces this process when it ends. Requests come on standard input,
answers leave on standard output, both in the frames of `pdf_reader`.
"""

from __future__ import annotations

import ctypes
import os
import resource
import struct
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING or __name__ == "__main__":  # `pdf_reader` imports the frames, and must not load the library
    import pypdfium2

REQUEST = struct.Struct("<IIII")
"""Bytes of the file, maximum pages, maximum characters, seconds of processor time."""
FRAME = struct.Struct("<cI")
"""Kind and length of what follows."""
TITLE, HEADING, LANGUAGE, PAGE, BAD_PAGE, FAILED, CUT, DONE, RETIRED = (bytes([kind]) for kind in b"THLPBFCDR")

MEMORY = 1 << 30
"""Bytes that this process may take at most; on a small machine a quarter of its memory, but `LEAST_MEMORY`."""
LEAST_MEMORY = 256 << 20
_FILES = 200
"""Files after which this process ends: what they leave behind in memory ends with it."""
_SPENT = 256 << 20
"""Bytes that a file left in memory, beyond which this process ends."""
_HEADING_CHARACTERS = 3000
_LARGE = 1.15
"""Height of a heading, as a multiple of the common height of the first page's characters."""


def main() -> None:
    """Answer requests until standard input ends, or this process has read enough."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the library prints is not an answer
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:  # noqa: PTH123 - as below
        file.write("1000")  # rather this process than any other
    _limit(resource.RLIMIT_AS, memory_limit())
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, 0)
    for number in range(1, _FILES + 1):
        head = sys.stdin.buffer.read(REQUEST.size)
        if len(head) < REQUEST.size:
            return
        size, pages, characters, seconds = REQUEST.unpack(head)
        body = sys.stdin.buffer.read(size)
        used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
        _limit(resource.RLIMIT_CPU, int(used + 1) + seconds)
        _answer(out, body, pages, characters)
        is_spent = number == _FILES or _resident() > _SPENT
        _send(out, RETIRED if is_spent else DONE)
        if is_spent:
            return


def _limit(which: int, most: int) -> None:
    _, hard = resource.getrlimit(which)
    resource.setrlimit(which, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def memory_limit(root: str = "") -> int:
    """Bytes that this process may take, by the memory of the machine and the limits of its control groups."""
    found = [os.sysconf("SC_PHYS_PAGES") * resource.getpagesize()]
    for line in _text(f"{root}/proc/self/cgroup").splitlines():
        _, kinds, group = line.split(":", 2)
        place, name = f"{root}/sys/fs/cgroup", "memory.max"
        if "memory" in kinds.split(","):
            place, name = f"{place}/memory", "memory.limit_in_bytes"
        elif kinds:
            continue
        names = group.split("/")
        texts = [_text("/".join([place, *names[1:depth], name])) for depth in range(1, len(names) + 1)]
        found += [int(text) for text in texts if text.strip().isdigit()]
    return max(LEAST_MEMORY, min(MEMORY, min(found) // 4))


def _text(path: str) -> str:
    try:
        with open(path) as file:  # noqa: PTH123 - nothing more is imported here
            return file.read()
    except OSError:
        return ""


def _resident() -> int:
    """Bytes in memory now; the largest so far would count what the parent had when it started this process."""
    pages = _text("/proc/self/statm").split()
    return int(pages[1]) * resource.getpagesize() if pages else 0


def _send(out: BinaryIO, kind: bytes, text: str = "") -> None:
    data = text.encode("utf-8", "replace")
    out.write(FRAME.pack(kind, len(data)) + data)
    out.flush()


def _answer(out: BinaryIO, body: bytes, max_pages: int, max_characters: int) -> None:
    """Send what one file says. The first page is asked for its heading, too."""
    try:
        document = pypdfium2.PdfDocument(body)
    except (pypdfium2.PdfiumError, MemoryError) as error:
        _send(out, FAILED, str(error))
        return
    try:
        count = len(document)
        _send(out, TITLE, str(document.get_metadata_value("Title"))[:1000])
        _send(out, LANGUAGE, _language(document)[:35])
        for number in range(min(count, max_pages)):
            text = _page(out, document, number)
            if text is None:
                continue
            _send(out, PAGE, text[:max_characters])
            max_characters -= len(text)
            if max_characters < 0:
                break
        if count > max_pages or max_characters < 0:
            _send(out, CUT)
    except (pypdfium2.PdfiumError, MemoryError, ValueError) as error:
        _send(out, FAILED, str(error))
    finally:
        document.close()


def _page(out: BinaryIO, document: Any, number: int) -> str | None:
    """The text of a page; `None` if it cannot be read."""
    try:
        page = document[number]
        try:
            found = page.get_textpage()
            if number == 0:
                _send(out, HEADING, _heading(found))
            return str(found.get_text_range()) if found.count_chars() > 0 else ""
        finally:
            page.close()  # and what was made from it
    except (pypdfium2.PdfiumError, ValueError) as error:
        _send(out, BAD_PAGE, str(error))
        return None


def _language(document: Any) -> str:
    raw = pypdfium2.raw
    size = raw.FPDFCatalog_GetLanguage(document, None, 0)
    if not 0 < size <= 200:
        return ""
    buffer = ctypes.create_string_buffer(size)
    raw.FPDFCatalog_GetLanguage(document, ctypes.cast(buffer, ctypes.POINTER(raw.FPDF_WCHAR)), size)
    return buffer.raw[:size].decode("utf-16-le", "ignore").rstrip("\0")


def _heading(page: Any) -> str:
    """The first lines that are larger than the others, by the heights of their characters."""
    raw, box = pypdfium2.raw, pypdfium2.raw.FS_RECTF()
    lines: list[tuple[str, float]] = []
    text, heights = "", [0.0]
    every: list[float] = []
    for place in range(min(page.count_chars(), _HEADING_CHARACTERS)):
        code = raw.FPDFText_GetUnicode(page, place)
        if code in (10, 13):
            lines.append((text, max(heights)))
            text, heights = "", [0.0]
            continue
        text += chr(code) if code < 0x110000 else ""
        if code > 32 and raw.FPDFText_GetLooseCharBox(page, place, box):
            heights.append(round(box.top - box.bottom, 1))
            every.append(heights[-1])
    lines.append((text, max(heights)))
    if not every:
        return ""
    most = max(height for text, height in lines if len(text.strip()) > 2 or height == max(every))
    if most < _LARGE * sorted(every)[len(every) // 2] and len(lines) > 2:
        return ""
    first = next(number for number, line in enumerate(lines) if line[1] >= most)
    last = first + 1
    while last < len(lines) and last < first + 3 and (lines[last][1] >= 0.95 * most or not lines[last][0].strip()):
        last += 1
    return " ".join(text for text, _ in lines[first:last] if text.strip())


if __name__ == "__main__":
    main()
