"""The text of a PDF by pages, taken out by a child process that is killed when it takes too much."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_WORKER: Final = Path(__file__).with_name("pdf_worker.py")


@dataclass(frozen=True, slots=True, kw_only=True)
class PdfLimits:
    """What reading one PDF may take. Pages and characters beyond are not read, and the document says so."""

    pages: int = 2_000
    chars: int = 5_000_000
    cpu_s: int = 15
    wall_s: float = 30.0
    memory_bytes: int = 768 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class PdfPage:
    """One page: its text in lines, and for a page without text short digests of its pictures."""

    text: str
    pictures: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pdf:
    """A PDF that was read; `total` counts all its pages, `cut` tells that its text was too long to read whole."""

    pages: tuple[PdfPage, ...]
    title: str
    total: int
    cut: bool


class PdfFault(Exception):  # noqa: N818 - it is the document's fault, not the program's
    """A PDF that cannot be read: `pdf-encrypted`, `pdf-broken` or `pdf-too-costly`, and a sentence."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code
        self.sentence = sentence


_BY_BYTES: Final = "To compare it by its bytes, set the document type to “file”."
_SENTENCES: Final = {
    "encrypted": f"The PDF is protected by a password and cannot be read. {_BY_BYTES}",
    "broken": f"The PDF is damaged and cannot be read. {_BY_BYTES}",
    "too-costly": f"Reading the PDF takes too much time or memory. {_BY_BYTES}",
}
_DEFAULT: Final = PdfLimits()


def read_pdf(body: bytes, *, limits: PdfLimits = _DEFAULT) -> Pdf:
    """The pages of a PDF. Raises `PdfFault`. Takes about 70 ms and 1.5 ms a page."""
    head = {"pages": limits.pages, "chars": limits.chars, "cpu_s": limits.cpu_s, "memory_bytes": limits.memory_bytes}
    try:
        done = subprocess.run(  # noqa: S603 - our own file, no shell
            [sys.executable, "-I", str(_WORKER)],
            input=json.dumps(head).encode() + b"\n" + body,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=limits.wall_s,
            env={},
            cwd="/",
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise _fault("too-costly") from error
    if done.returncode != 0:
        raise _fault("too-costly")
    told = json.loads(done.stdout)
    if fault := told.get("fault"):
        raise _fault(fault)
    pages = tuple(PdfPage(page["text"], tuple(page["pictures"])) for page in told["pages"])
    return Pdf(pages=pages, title=told["title"], total=told["total"], cut=told["cut"])


def _fault(what: str) -> PdfFault:
    return PdfFault(f"pdf-{what}", _SENTENCES[what])
