"""What can't be read as text: one block that names type, size and digest, so that a change is seen and can be shown."""

from __future__ import annotations

from monitoring.detection.blocks import Block, Flag, Reading


def read_file(content_type: str, size_bytes: int, sha256: str) -> Reading:
    """A file as one block; without bytes no block at all."""
    if size_bytes == 0:
        return Reading(blocks=())
    kind = content_type or "unknown type"
    text = f"A file of type {kind}, {size_bytes} bytes, SHA-256 {sha256}"
    flag = Flag("by-digest", f"{kind}, {spoken_size(size_bytes)}")
    return Reading(blocks=(Block(text=text, tag="p", path="file", slot="file"),), flags=(flag,))


def spoken_size(size_bytes: int) -> str:
    """A size for a sentence: `34 kB`, `1.2 MB`."""
    if size_bytes < 1000:
        return f"{size_bytes} bytes"
    if size_bytes < 1_000_000:
        return f"{size_bytes / 1000:.0f} kB"
    return f"{size_bytes / 1_000_000:.1f} MB"
