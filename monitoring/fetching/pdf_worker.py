"""The text of one PDF, taken out in a process that may use little time and memory: run as a file, it imports nothing of ours.

Reads the limits as a line of JSON and then the bytes from standard input; writes one JSON object. pdfium is C++ that
parses what an adversary wrote: whatever happens in here ends with this process.
"""

from __future__ import annotations

import codecs
import contextlib
import ctypes
import hashlib
import json
import resource
import sys
from typing import Any

import pypdfium2.raw as pdfium

_ERRORS = {
    pdfium.FPDF_ERR_PASSWORD: "encrypted",
    pdfium.FPDF_ERR_SECURITY: "encrypted",
    pdfium.FPDF_ERR_FORMAT: "broken",
    pdfium.FPDF_ERR_FILE: "broken",
}
_MOST_PICTURES = 50
_MOST_OBJECTS = 20_000
_MOST_PICTURE_BYTES = 20_000_000


def main() -> None:
    """Answer for the one document on standard input."""
    limits = json.loads(sys.stdin.buffer.readline())
    body = sys.stdin.buffer.read()
    codecs.lookup("utf-16-le")  # codecs are files, too, and none can be opened from here on
    size = limits["memory_bytes"]
    with contextlib.suppress(ValueError, OSError):  # some systems know no such limit; the others still hold
        resource.setrlimit(resource.RLIMIT_AS, (size, size))
    resource.setrlimit(resource.RLIMIT_CPU, (limits["cpu_s"], limits["cpu_s"]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))  # none but the three that are open
    sys.stdout.write(json.dumps(_read(body, most_pages=limits["pages"], most_chars=limits["chars"])))


def _read(body: bytes, *, most_pages: int, most_chars: int) -> dict[str, Any]:
    pdfium.FPDF_InitLibrary()
    document = pdfium.FPDF_LoadMemDocument64(body, len(body), None)
    if not document:
        return {"fault": _ERRORS.get(pdfium.FPDF_GetLastError(), "broken")}
    total = pdfium.FPDF_GetPageCount(document)
    pages: list[dict[str, Any]] = []
    chars = broken = 0
    for number in range(min(total, most_pages)):
        page = pdfium.FPDF_LoadPage(document, number)
        if not page:
            broken += 1
            pages.append({"text": "", "pictures": []})
            continue
        text = _text(page)
        chars += len(text)
        if chars > most_chars:
            break
        pages.append({"text": text, "pictures": [] if text.strip() else _pictures(page)})
        pdfium.FPDF_ClosePage(page)
    if total <= 0 or broken == total:
        return {"fault": "broken"}
    return {"title": _title(document), "total": total, "pages": pages, "cut": chars > most_chars}


def _text(page: Any) -> str:
    loaded = pdfium.FPDFText_LoadPage(page)
    if not loaded:
        return ""
    try:
        count = pdfium.FPDFText_CountChars(loaded)
        if count <= 0:
            return ""
        room = (ctypes.c_ushort * (2 * count + 2))()
        written = pdfium.FPDFText_GetText(loaded, 0, count, room)
        return bytes(room)[: 2 * max(0, written - 1)].decode("utf-16-le", "replace")
    finally:
        pdfium.FPDFText_ClosePage(loaded)


def _pictures(page: Any) -> list[str]:
    """Short digests of what a page without text shows: its pictures as they are stored, and all else by kind and place."""
    found: list[str] = []
    drawn = hashlib.sha256()
    others = 0
    corners = [ctypes.c_float() for _ in range(4)]
    for number in range(min(pdfium.FPDFPage_CountObjects(page), _MOST_OBJECTS)):
        part = pdfium.FPDFPage_GetObject(page, number)
        kind = pdfium.FPDFPageObj_GetType(part)
        if kind == pdfium.FPDF_PAGEOBJ_IMAGE and len(found) < _MOST_PICTURES:
            found.append(_picture(part))
            continue
        others += 1
        pdfium.FPDFPageObj_GetBounds(part, *(ctypes.byref(corner) for corner in corners))
        segments = pdfium.FPDFPath_CountSegments(part) if kind == pdfium.FPDF_PAGEOBJ_PATH else 0
        drawn.update(repr((kind, segments, [round(corner.value, 1) for corner in corners])).encode())
    return [*found, f"drawing {drawn.hexdigest()[:16]}"] if others else found


def _picture(part: Any) -> str:
    size = pdfium.FPDFImageObj_GetImageDataRaw(part, None, 0)
    if not 0 < size <= _MOST_PICTURE_BYTES:
        return f"{size} bytes"
    room = (ctypes.c_ubyte * size)()
    pdfium.FPDFImageObj_GetImageDataRaw(part, room, size)
    return hashlib.sha256(bytes(room)).hexdigest()[:16]


def _title(document: Any) -> str:
    size = pdfium.FPDF_GetMetaText(document, b"Title", None, 0)
    if not 2 < size < 4000:
        return ""
    room = ctypes.create_string_buffer(size)
    pdfium.FPDF_GetMetaText(document, b"Title", room, size)
    return room.raw[: size - 2].decode("utf-16-le", "replace")


if __name__ == "__main__":
    main()
