"""Content-Encoding undone within a bound: a few hundred bytes may stand for gigabytes, so output is asked for in pieces."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator

import brotli
import zstandard

from monitoring.fetching.errors import TooLarge, Undecodable

ACCEPT_ENCODING = "gzip, deflate, br, zstd"
MAX_CODINGS = 2

_PIECE = 256 * 1024
_GZIP_MAGIC = b"\x1f\x8b"
# RFC 9659: a zstd body for HTTP needs no window above 8 MiB.
_ZSTD_WINDOW = 8 * 1024 * 1024
_MAX_MEMBERS = 1000
# One zstd block gives at most 128 KiB and may take 4 bytes: this much input gives at most 8 MiB at a time.
_ZSTD_STEP = 256


def codings(header: str) -> tuple[str, ...]:
    """Content-Encoding as names in the order applied; raises `Undecodable` for unknown ones and for more than two."""
    names = tuple(
        name for part in header.lower().split(",") if (name := part.strip().removeprefix("x-")) not in ("", "identity")
    )
    if len(names) > MAX_CODINGS:
        raise Undecodable(f"The answer is compressed {len(names)} times; at most {MAX_CODINGS} are undone.")
    for name in names:
        if name not in _DECODERS:
            raise Undecodable(f"The content encoding {name[:40]!a} is not supported; expected {ACCEPT_ENCODING}.")
    return names


def decompress(raw: bytes, names: tuple[str, ...], *, max_bytes: int) -> bytes:
    """The body with its codings undone, last applied first.

    Raises `TooLarge` as soon as a stage gives more than `max_bytes`, `Undecodable` when a stage is damaged or cut off.
    """
    body = raw
    for name in reversed(names):
        if not body:
            return body
        body = _bounded(_DECODERS[name](body), name, max_bytes)
    return body


def _bounded(pieces: Iterator[bytes], name: str, max_bytes: int) -> bytes:
    kept: list[bytes] = []
    size = 0
    try:
        for piece in pieces:
            size += len(piece)
            if size > max_bytes:
                raise TooLarge(f"The page is larger than {max_bytes} bytes once decompressed.")
            kept.append(piece)
    except (zlib.error, brotli.error, zstandard.ZstdError) as error:
        raise Undecodable(f"The body is not valid {name}, as its header says it is.") from error
    return b"".join(kept)


def _inflate(data: bytes, wbits: int) -> Iterator[bytes]:
    for _ in range(_MAX_MEMBERS):
        if not data:
            return
        stream = zlib.decompressobj(wbits)
        while not stream.eof:
            piece = stream.decompress(data, _PIECE)
            data = stream.unconsumed_tail
            if piece:
                yield piece
            elif not stream.eof and not data:
                raise Undecodable("The compressed body ends too early.", transient=True)
        # Further gzip members are part of the body; anything else after the end is ignored, as browsers do.
        data = stream.unused_data if wbits > 16 and stream.unused_data.startswith(_GZIP_MAGIC) else b""
    raise Undecodable(f"The body is made of more than {_MAX_MEMBERS} gzip members.")


def _gunzip(data: bytes) -> Iterator[bytes]:
    return _inflate(data, 16 + zlib.MAX_WBITS)


def _deflate(data: bytes) -> Iterator[bytes]:
    """Zlib format as the standard says, or bare deflate as some servers send."""
    has_header = len(data) >= 2 and data[0] & 0x0F == 8 and (data[0] << 8 | data[1]) % 31 == 0
    return _inflate(data, zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS)


def _unbrotli(data: bytes) -> Iterator[bytes]:
    stream = brotli.Decompressor()
    piece = stream.process(data, output_buffer_limit=_PIECE)
    yield piece
    while not stream.is_finished():
        piece = stream.process(b"", output_buffer_limit=_PIECE)
        if not piece and stream.can_accept_more_data():
            raise Undecodable("The compressed body ends too early.", transient=True)
        yield piece


def _unzstd(data: bytes) -> Iterator[bytes]:
    stream = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW).decompressobj()
    for start in range(0, len(data), _ZSTD_STEP):
        yield stream.decompress(data[start : start + _ZSTD_STEP])
        if stream.eof:
            return
    raise Undecodable("The compressed body ends too early.", transient=True)


_DECODERS: dict[str, Callable[[bytes], Iterator[bytes]]] = {
    "gzip": _gunzip,
    "deflate": _deflate,
    "br": _unbrotli,
    "zstd": _unzstd,
}
