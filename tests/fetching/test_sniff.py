"""What a body is, whatever its label says."""

from __future__ import annotations

import pytest

from monitoring.fetching.sniff import sniffed


@pytest.mark.parametrize(
    ("body", "label", "found", "is_text"),
    [
        (b"%PDF-1.7", "text/html", "application/pdf", False),
        (b"junk\n%PDF-1.4", "application/pdf", "application/pdf", False),
        (b"<!doctype html><p>Sign in", "application/pdf", "text/html", True),
        (b"PK\x03\x04..", "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
         "application/vnd.openxmlformats-officedocument.wordprocessingml.document", False),
        (b"PK\x03\x04..", "text/html", "application/zip", False),
        (b"RIFF....WEBPVP8 ", "image/png", "image/webp", False),
        (b"<p>terms</p>", "application/octet-stream", "application/octet-stream", False),
        (b"<svg/>", "image/svg+xml", "image/svg+xml", False),
        (b"a\x00b", "text/plain", "application/octet-stream", False),
        (b"\xff\xfea\x00b\x00", "text/plain", "text/plain", True),
        (b"a,b", "text/csv", "text/csv", True),
        (b"{}", "application/json", "application/json", True),
        (b"{}", "application/problem+json", "application/problem+json", True),
        (b"a: 1", "application/yaml", "application/yaml", True),
        (b"<?xml version='1.0'?><!-- x --><rss version='2.0'/>", "text/html", "application/rss+xml", True),
        (b"\n<feed xmlns='http://www.w3.org/2005/Atom'/>", "text/html", "application/atom+xml", True),
        (b"<p>&lt;rss <rss>", "text/html", "text/html", True),
        (b"  <!DOCTYPE HTML>", "", "text/html", True),
        (b"<?xml version='1.0'?><a/>", "", "text/xml", True),
        (b'{"a": 1}\n', "", "application/json", True),
        (b"just words", "", "text/plain", True),
        (b"words and <p>markup</p>", "unknown/unknown", "text/html", True),
        (b"\x01\x02\x03", "", "application/octet-stream", False),
        (b"", "", "text/html", True),
    ],
)  # fmt: skip
def test_signatures_win_over_labels_and_tags_over_none(body: bytes, label: str, found: str, is_text: bool) -> None:
    assert sniffed(body, label) == (found, is_text)
