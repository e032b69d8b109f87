"""Captures as a WARC 1.1 file (ISO 28500), so that tools of archivists open them."""

from __future__ import annotations

import hashlib
import uuid
from base64 import b32encode
from collections.abc import Sequence
from http import HTTPStatus

from monitoring.models import Snapshot

# The bytes are kept as they were after decoding; these headers describe them as they were on the wire.
_WIRE = frozenset({"content-encoding", "transfer-encoding", "content-length"})


def warc(captures: Sequence[tuple[Snapshot, bytes]], *, software: str) -> bytes:
    """A file with a `warcinfo` record and a `response` record of each capture.

    The record id of a capture follows from its digest and time: the same capture has the same id in every file.
    """
    info = f"software: {software}\r\nformat: WARC File Format 1.1\r\nconformsTo: http://iipc.github.io/warc-specifications/\r\n"
    first = captures[0][0].taken_at if captures else None
    at = f"{first:%Y-%m-%dT%H:%M:%SZ}" if first else "1970-01-01T00:00:00Z"
    records = [
        _record({"WARC-Type": "warcinfo", "WARC-Date": at, "Content-Type": "application/warc-fields"}, info.encode())
    ]
    return b"".join([*records, *(_response(snapshot, body) for snapshot, body in captures)])


def _response(snapshot: Snapshot, body: bytes) -> bytes:
    try:
        phrase = HTTPStatus(snapshot.status).phrase
    except ValueError:
        phrase = ""
    lines = [f"HTTP/1.1 {snapshot.status} {phrase}".rstrip()]
    lines += [
        f"{_line(pair[0])}: {_line(pair[1])}"
        for pair in snapshot.headers
        if isinstance(pair, list | tuple) and len(pair) == 2 and str(pair[0]).lower() not in _WIRE
    ]
    lines.append(f"Content-Length: {len(body)}")
    head = "\r\n".join(lines).encode("utf-8", "replace") + b"\r\n\r\n"
    block = head + body
    fields = {
        "WARC-Type": "response",
        "WARC-Date": f"{snapshot.taken_at:%Y-%m-%dT%H:%M:%SZ}",
        "WARC-Target-URI": _line(snapshot.final_url or snapshot.url),
        "Content-Type": "application/http;msgtype=response",
        "WARC-Payload-Digest": _digest(body),
        "WARC-Block-Digest": _digest(block),
    }
    if snapshot.peer_address:
        fields["WARC-IP-Address"] = _line(snapshot.peer_address)
    return _record(fields, block, seed=f"{snapshot.payload.sha256} {snapshot.taken_at.isoformat()}")


def _record(fields: dict[str, str], block: bytes, *, seed: str = "") -> bytes:
    name = uuid.uuid5(uuid.NAMESPACE_URL, seed or hashlib.sha256(block).hexdigest())
    fields = fields | {"WARC-Record-ID": f"<urn:uuid:{name}>", "Content-Length": str(len(block))}
    head = "WARC/1.1\r\n" + "".join(f"{key}: {value}\r\n" for key, value in fields.items()) + "\r\n"
    return head.encode("utf-8", "replace") + block + b"\r\n\r\n"


def _digest(body: bytes) -> str:
    return "sha256:" + b32encode(hashlib.sha256(body).digest()).decode()


def _line(text: object) -> str:
    """A header's text on one line: a value with a line break in it would begin another header."""
    return " ".join(str(text).split())
