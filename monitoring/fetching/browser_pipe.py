"""What goes through the pipes between a worker and its browser process: a line of JSON each way, and the answer's bytes.

The answer's line tells the sizes of the parts that follow it. Both pipes are served at once, so that neither side can
block the other for ever.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

_PIECE = 1 << 20
_MAX_LINE = 8 << 20
_MAX_BYTES = 256 << 20
PARTS = 3  # HTML, screenshot, thumbnail


class PipeClosed(Exception):  # noqa: N818 - the name says what happened
    """The child ended, or said what can't be read, before its answer was complete."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The child's facts, and the parts that came with them."""

    facts: dict[str, Any]  # Any: the child's own JSON
    parts: tuple[bytes, ...]


def encode(facts: dict[str, Any], parts: Sequence[bytes]) -> bytes:
    """An answer as it is written."""
    return json.dumps(facts | {"sizes": [len(part) for part in parts]}).encode() + b"\n" + b"".join(parts)


def exchange(child: subprocess.Popen[bytes], question: bytes, *, look: Callable[[], None], every_s: float) -> Answer:
    """The child's answer to a line; `look` is called every so often and may raise to give up."""
    assert child.stdin is not None  # noqa: S101 - started with pipes
    assert child.stdout is not None  # noqa: S101
    reading, writing = child.stdout.fileno(), child.stdin.fileno()
    os.set_blocking(writing, False)
    os.set_blocking(reading, False)
    received = bytearray()
    looked_at = time.monotonic()
    with selectors.DefaultSelector() as selector:
        selector.register(reading, selectors.EVENT_READ)
        selector.register(writing, selectors.EVENT_WRITE)
        while True:
            ready = selector.select(every_s)
            if time.monotonic() - looked_at >= every_s:
                look()
                looked_at = time.monotonic()
            for key, _ in ready:
                if key.fd == writing:
                    question = _written(writing, question)
                    if not question:
                        selector.unregister(writing)
                else:
                    received += _read(reading)
            if (answer := _parsed(received)) is not None:
                return answer


def _written(pipe: int, data: bytes) -> bytes:
    """What is still to be written."""
    try:
        return data[os.write(pipe, data[:_PIECE]) :]
    except BlockingIOError:
        return data
    except OSError as error:
        raise PipeClosed from error


def _read(pipe: int) -> bytes:
    try:
        piece = os.read(pipe, _PIECE)
    except BlockingIOError:
        return b""
    if not piece:
        raise PipeClosed
    return piece


def _parsed(received: bytearray) -> Answer | None:
    """The answer, or None while it is not complete."""
    end = received.find(b"\n", 0, _MAX_LINE)
    if end < 0:
        if len(received) > _MAX_LINE:
            raise PipeClosed
        return None
    try:
        facts: dict[str, Any] = json.loads(received[:end])  # Any: the child's own JSON
        sizes = [int(size) for size in facts.pop("sizes")]
    except (ValueError, KeyError, TypeError) as error:
        raise PipeClosed from error
    if len(sizes) != PARTS or min(sizes) < 0 or sum(sizes) > _MAX_BYTES:
        raise PipeClosed
    if len(received) < end + 1 + sum(sizes):
        return None
    parts, at = [], end + 1
    for size in sizes:
        parts.append(bytes(received[at : at + size]))
        at += size
    return Answer(facts, tuple(parts))
