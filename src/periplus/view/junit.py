"""JUnit XML, which CI systems show as a list of tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from xml.etree.ElementTree import Element, SubElement, tostring  # written, never parsed

from msgspec import Struct

_INVALID_XML = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 65534, 65535), "\ufffd")


class JUnitCase(Struct, frozen=True):
    """One test: it failed if `failure` is not empty, was skipped if `skipped` is not, and else passed."""

    classname: str
    name: str
    failure: str = ""
    kind: str = ""
    skipped: str = ""
    text: str = ""


def junit_file(title: str, suite: str, cases: Sequence[JUnitCase], attributes: Mapping[str, str] | None = None) -> str:
    """A file with one suite. `attributes` are added to it."""
    counts = {
        "tests": str(len(cases)),
        "failures": str(sum(bool(case.failure) for case in cases)),
        "errors": "0",
        "skipped": str(sum(bool(case.skipped) for case in cases)),
        "time": "0",
    }
    root = Element("testsuites", {"name": _xml(title), **counts})
    listed = SubElement(root, "testsuite", {"name": _xml(suite), **counts, **(attributes or {})})
    for case in cases:
        element = SubElement(listed, "testcase", {"classname": case.classname, "name": case.name, "time": "0"})
        if case.failure:
            failure = SubElement(element, "failure", {"message": _xml(case.failure), "type": case.kind})
            failure.text = _xml(case.text)
        elif case.skipped:
            SubElement(element, "skipped", {"message": _xml(case.skipped)})
        elif case.text:
            SubElement(element, "system-out").text = _xml(case.text)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _xml(text: str) -> str:
    """Text without the characters that XML 1.0 forbids."""
    return text.translate(_INVALID_XML).encode("utf-8", "replace").decode()
