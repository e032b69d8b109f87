"""PDFs by pages, in a child process: what they say, and what hostile ones come to."""

from __future__ import annotations

import resource

import pytest

from monitoring.fetching.pdf import PdfFault, PdfLimits, read_pdf
from tests.pdfs import make_bomb, make_loop, make_pdf


def code_of(body: bytes, limits: PdfLimits | None = None) -> str:
    """The code of the fault that reading these bytes ends with."""
    with pytest.raises(PdfFault) as caught:
        read_pdf(body, limits=limits or PdfLimits())
    assert caught.value.sentence.startswith(("The PDF", "Reading the PDF"))
    return caught.value.code


def test_text_comes_by_pages() -> None:
    pdf = read_pdf(make_pdf([["Certificate", "Valid until 30 November 2027"], ["Scope (all of it)"]], title="ISO 9001"))

    assert [page.text.splitlines() for page in pdf.pages] == [
        ["Certificate", "Valid until 30 November 2027"],
        ["Scope (all of it)"],
    ]
    assert (pdf.title, pdf.total, pdf.cut) == ("ISO 9001", 2, False)


def test_a_page_without_text_gives_the_digest_of_its_picture() -> None:
    one, same, other = (read_pdf(make_pdf([grey, ["text"]], stamp=stamp)) for grey, stamp in
                        [(b"\x10" * 64, "20260101"), (b"\x10" * 64, "20261130"), (b"\x99" * 64, "20260101")])  # fmt: skip

    assert one.pages[0].text == ""
    assert one.pages[0].pictures == same.pages[0].pictures != other.pages[0].pictures
    assert one.pages[1].pictures == ()


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (make_pdf([["secret"]], password="abc"), "pdf-encrypted"),
        (b"%PDF-1.7\n", "pdf-broken"),
        (b"", "pdf-broken"),
        (make_pdf([["Certificate"] * 30] * 3)[:900], "pdf-broken"),
        (make_loop(), "pdf-broken"),
    ],
    ids=["password", "head only", "nothing", "cut off", "pages in a circle"],
)
def test_what_cannot_be_read_has_a_clear_reason(body: bytes, code: str) -> None:
    assert code_of(body) == code


def test_a_bomb_takes_no_more_than_it_may() -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime

    assert code_of(make_bomb(900_000_000), PdfLimits(cpu_s=4, memory_bytes=400 << 20)) == "pdf-too-costly"
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before < 6


def test_a_reading_that_takes_too_long_is_ended() -> None:
    assert code_of(make_pdf([["a"]]), PdfLimits(wall_s=0.001)) == "pdf-too-costly"


def test_pages_and_characters_beyond_the_limit_are_told() -> None:
    pdf = read_pdf(make_pdf([["a"], ["b"], ["c"]]), limits=PdfLimits(pages=2))
    short = read_pdf(make_pdf([["a" * 50], ["b" * 50]]), limits=PdfLimits(chars=60))

    assert ([page.text for page in pdf.pages], pdf.total) == (["a", "b"], 3)
    assert (len(short.pages), short.total, short.cut) == (1, 2, True)
