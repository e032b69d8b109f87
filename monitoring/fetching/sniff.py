"""What a body is, whatever its label says: the rules of WHATWG MIME Sniffing as far as a watcher of pages needs them.

Well-known signatures win over the label; a feed labelled as HTML is a feed; text with bytes that no text holds is not
text; without a label the first tag decides. What a site calls an octet stream stays one: browsers offer it for download.
"""

from __future__ import annotations

import re
from typing import Final

_MEDIA_TYPE: Final = re.compile(r"[a-z0-9!#$&^_.+-]{1,60}/[a-z0-9!#$&^_.+-]{1,60}(?=\s*(?:;|,|$))")

_MAGIC: Final = (
    (b"%PDF-", "application/pdf"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"\x00\x00\x01\x00", "image/x-icon"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b\x08", "application/gzip"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"Rar!\x1a\x07", "application/x-rar-compressed"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
    (b"%!PS-Adobe-", "application/postscript"),
    (b"{\\rtf", "application/rtf"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
)
# What a ZIP file is of these its label knows better than its first bytes.
_ZIPPED: Final = re.compile(
    r"application/(?:vnd\.openxmlformats-officedocument|vnd\.oasis\.opendocument|epub\+zip)[\w.+-]*"
)
_TEXT_APPLICATIONS: Final = frozenset(
    {"application/json", "application/x-json", "application/yaml", "application/x-yaml", "application/toml",
     "application/javascript", "application/x-ndjson", "application/sql"}
)  # fmt: skip
_UNKNOWN: Final = frozenset({"", "unknown/unknown", "application/unknown", "*/*"})

_HEAD: Final = 1445  # bytes, as the standard has it
_PDF_HEAD: Final = 1024
_BOMS: Final = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_BINARY: Final = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_MARKUP: Final = re.compile(
    rb"<(?:!doctype html|!--|/?(?:html|head|script|iframe|h[1-6]|div|font|table|a|style|title|b|body|br|p|ul|main|meta|span)"
    rb"[\s>/])",
    re.IGNORECASE,
)
_PROLOGUE: Final = re.compile(rb"\s+|<\?.*?\?>|<!--.*?-->|<![^>]*>", re.DOTALL)


def media_type(header: str) -> str:
    """The type and subtype of a Content-Type header, or the empty string for what is none: undecodable bytes stay out."""
    found = _MEDIA_TYPE.match(header.strip().lower())
    return found[0] if found else ""


def sniffed(body: bytes, content_type: str) -> tuple[str, bool]:
    """The type of a body, and whether it is text to read. `content_type` is the label's media type."""
    for magic, found in _MAGIC:
        if body.startswith(magic):
            return content_type if found == "application/zip" and _ZIPPED.fullmatch(content_type) else found, False
    if body.startswith(b"RIFF") and body[8:12] == b"WEBP":
        return "image/webp", False
    if content_type == "application/pdf":
        # Some makers put a few bytes before the signature, and readers forgive it.
        return (content_type, False) if not body or b"%PDF-" in body[:_PDF_HEAD] else sniffed(body, "")
    if content_type in _UNKNOWN:
        return _unlabelled(body)
    if content_type == "text/html":
        return _feed_of(body) or content_type, True
    if content_type == "image/svg+xml":
        return content_type, False
    if content_type == "text/plain" and _is_binary(body):
        return "application/octet-stream", False
    is_text = content_type.startswith("text/") or content_type.endswith(("/xml", "+xml", "+json"))
    return content_type, is_text or content_type in _TEXT_APPLICATIONS


def _unlabelled(body: bytes) -> tuple[str, bool]:
    if _is_binary(body):
        return "application/octet-stream", False
    head = body[:_HEAD].lstrip(b"\xef\xbb\xbf \t\r\n\f")
    if head.startswith(b"<?xml"):
        return "text/xml", True
    if not head or _MARKUP.search(head) or body.startswith(_BOMS[1:]):
        return "text/html", True
    if head.startswith((b"{", b"[")) and body.rstrip().endswith((b"}", b"]")):
        return "application/json", True
    return "text/plain", True


def _is_binary(body: bytes) -> bool:
    return not body.startswith(_BOMS) and _BINARY.search(body, 0, _HEAD) is not None


def _feed_of(body: bytes) -> str:
    """The feed type of what is labelled as HTML, "" for a page: by the first tag after comments and declarations."""
    if b"<rss" not in body[:_HEAD] and b"<feed" not in body[:_HEAD] and b"<rdf:RDF" not in body[:_HEAD]:
        return ""
    at = 3 if body.startswith(b"\xef\xbb\xbf") else 0
    while found := _PROLOGUE.match(body, at, _HEAD):
        at = found.end()
    for start, feed in (
        (b"<rss", "application/rss+xml"),
        (b"<feed", "application/atom+xml"),
        (b"<rdf:RDF", "application/rdf+xml"),
    ):
        if body.startswith(start, at):
            return feed
    return ""
