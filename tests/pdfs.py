"""Small PDFs made from lines of text, as a printer would: pages, a picture in place of text, a password."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence

_PAD = bytes.fromhex("28BF4E5E4E758A4164004E56FFFA01082E2E00B6D0683E802F0CA9FE6453697A")
_ID = b"0123456789abcdef"


def make_pdf(
    pages: Sequence[Sequence[str] | bytes], *, title: str = "", password: str = "", stamp: str = "20261130"
) -> bytes:
    """A PDF of these pages: lines of text from top to bottom, or bytes for a page of one grey picture.

    With a password it cannot be opened without. `stamp` is its date of making, which no reader sees.
    """
    key = _key(password) if password else b""
    parts: list[bytes] = [b"", b"", b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"]
    kids = []
    for page in pages:
        content, resources = _picture(page, parts, key) if isinstance(page, bytes) else _text(page)
        parts.append(_stream(b"", content, len(parts) + 1, key))
        parts.append(
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<<%s>>/Contents %d 0 R>>"
            % (resources, len(parts))
        )
        kids.append(b"%d 0 R" % len(parts))
    parts[0] = b"<</Type/Catalog/Pages 2 0 R>>"
    parts[1] = b"<</Type/Pages/Count %d/Kids[%s]>>" % (len(kids), b" ".join(kids))
    trailer = b""
    if password:
        parts.append(
            b"<</Filter/Standard/V 1/R 2/P -4/O<%s>/U<%s>>>"
            % (_owner(password).hex().encode(), _rc4(key, _PAD).hex().encode())
        )
        trailer = b"/Encrypt %d 0 R/ID[<%s><%s>]" % (len(parts), _ID.hex().encode(), _ID.hex().encode())
    else:
        parts.append(b"<</Title(%s)/CreationDate(D:%s)>>" % (title.encode("latin-1"), stamp.encode()))
        trailer = b"/Info %d 0 R" % len(parts)
    return _file(parts, trailer)


def _file(parts: Sequence[bytes], trailer: bytes) -> bytes:
    out = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n"
    places = []
    for number, part in enumerate(parts, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, part)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    head = b"xref\n0 %d\n0000000000 65535 f \n" % (len(parts) + 1)
    end = b"trailer\n<</Size %d/Root 1 0 R%s>>\nstartxref\n%d\n%%%%EOF\n" % (len(parts) + 1, trailer, len(out))
    return out + head + table + end


def _text(lines: Sequence[str]) -> tuple[bytes, bytes]:
    shown = b" T* ".join(b"(%s) Tj" % _escaped(line) for line in lines)
    return b"BT /F1 11 Tf 60 780 Td 15 TL %s ET" % shown, b"/Font<</F1 3 0 R>>"


def _escaped(line: str) -> bytes:
    return line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)").encode("cp1252")


def _picture(grey: bytes, parts: list[bytes], key: bytes) -> tuple[bytes, bytes]:
    head = b"/Type/XObject/Subtype/Image/Width %d/Height 1/ColorSpace/DeviceGray/BitsPerComponent 8" % len(grey)
    parts.append(_stream(head, grey, len(parts) + 1, key))
    return b"q 400 0 0 400 60 300 cm /I Do Q", b"/XObject<</I %d 0 R>>" % len(parts)


def _stream(head: bytes, data: bytes, number: int, key: bytes) -> bytes:
    if key:
        own = hashlib.md5(key + number.to_bytes(3, "little") + b"\0\0", usedforsecurity=False).digest()[: len(key) + 5]
        data = _rc4(own, data)
    return b"<<%s/Length %d>>stream\n%s\nendstream" % (head, len(data), data)


def make_bomb(size_bytes: int) -> bytes:
    """A PDF whose one page unpacks to this many bytes."""
    packer = zlib.compressobj(9)
    head = packer.compress(b"BT /F1 1 Tf ") + packer.flush(zlib.Z_FULL_FLUSH)
    piece = b"(a) Tj " * 100_000
    packed = packer.compress(piece) + packer.flush(
        zlib.Z_FULL_FLUSH
    )  # leans on nothing before it: can stand many times
    data = head + packed * (size_bytes // len(piece)) + packer.flush()
    parts = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Count 1/Kids[5 0 R]>>",
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        b"<</Filter/FlateDecode/Length %d>>stream\n%s\nendstream" % (len(data), data),
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Resources<</Font<</F1 3 0 R>>>>/Contents 4 0 R>>",
    ]
    return _file(parts, b"")


def make_loop() -> bytes:
    """A PDF whose pages are each other's children."""
    parts = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Count 9/Kids[3 0 R]>>",
        b"<</Type/Pages/Count 9/Kids[2 0 R 3 0 R]>>",
    ]
    return _file(parts, b"")


def _key(password: str) -> bytes:
    permissions = (-4).to_bytes(4, "little", signed=True)
    return hashlib.md5(_padded(password) + _owner(password) + permissions + _ID, usedforsecurity=False).digest()[:5]


def _owner(password: str) -> bytes:
    return _rc4(hashlib.md5(_padded(password), usedforsecurity=False).digest()[:5], _padded(password))


def _padded(password: str) -> bytes:
    return (password.encode("latin-1") + _PAD)[:32]


def _rc4(key: bytes, data: bytes) -> bytes:
    state, j = list(range(256)), 0
    for i in range(256):
        j = (j + state[i] + key[i % len(key)]) % 256
        state[i], state[j] = state[j], state[i]
    out, i, j = bytearray(), 0, 0
    for byte in data:
        i = (i + 1) % 256
        j = (j + state[i]) % 256
        state[i], state[j] = state[j], state[i]
        out.append(byte ^ state[(state[i] + state[j]) % 256])
    return bytes(out)
