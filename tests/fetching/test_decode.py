"""Compressed bodies: undone whole, or refused, never beyond the bound."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from monitoring.fetching.decode import codings, decompress
from monitoring.fetching.errors import TooLarge, Undecodable

MB = 1 << 20


def bare_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


PACKERS = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstandard.compress,
}


@pytest.mark.parametrize("name", PACKERS)
@given(data=st.binary(min_size=1, max_size=2000))
def test_a_packed_body_comes_back(name: str, data: bytes) -> None:
    assert decompress(PACKERS[name](data), (name,), max_bytes=MB) == data


def test_deflate_without_the_zlib_header_comes_back() -> None:
    assert decompress(bare_deflate(b"page " * 100), ("deflate",), max_bytes=MB) == b"page " * 100


def test_two_codings_are_undone_last_first() -> None:
    packed = brotli.compress(gzip.compress(b"page"))

    assert decompress(packed, codings("gzip, br"), max_bytes=MB) == b"page"


def test_gzip_members_are_joined_and_garbage_after_them_is_ignored() -> None:
    packed = gzip.compress(b"one ") + gzip.compress(b"two") + b"GARBAGE"

    assert decompress(packed, ("gzip",), max_bytes=MB) == b"one two"


def test_a_flood_of_gzip_members_is_refused() -> None:
    with pytest.raises(Undecodable):
        decompress(gzip.compress(b"") * 5000, ("gzip",), max_bytes=MB)


@pytest.mark.parametrize("name", PACKERS)
def test_a_body_cut_short_is_no_page(name: str) -> None:
    packed = PACKERS[name](bytes(range(256)) * 500)

    with pytest.raises(Undecodable) as caught:
        decompress(packed[: len(packed) // 2], (name,), max_bytes=MB)

    assert caught.value.transient


@pytest.mark.parametrize("name", PACKERS)
def test_a_body_that_is_something_else_is_refused(name: str) -> None:
    with pytest.raises(Undecodable):
        decompress(b"<!doctype html><p>plain</p>" * 20, (name,), max_bytes=MB)


@pytest.mark.parametrize("name", PACKERS)
def test_a_bomb_is_cut_off_at_the_bound(name: str) -> None:
    bomb = PACKERS[name](bytes(32 * MB))
    tracemalloc.start()

    with pytest.raises(TooLarge):
        decompress(bomb, (name,), max_bytes=MB)

    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 12 * MB


def test_a_bomb_in_a_bomb_is_cut_off() -> None:
    with pytest.raises(TooLarge):
        decompress(gzip.compress(gzip.compress(bytes(32 * MB))), ("gzip", "gzip"), max_bytes=MB)


@pytest.mark.parametrize("header", ["rot13", "gzip, sdch", "gzip, gzip, gzip", "utf-8"])
def test_unknown_or_too_many_codings_are_refused(header: str) -> None:
    with pytest.raises(Undecodable):
        codings(header)


@pytest.mark.parametrize(
    ("header", "names"), [("", ()), ("identity", ()), ("x-gzip", ("gzip",)), (" GZIP , br", ("gzip", "br"))]
)
def test_codings_are_read_as_servers_write_them(header: str, names: tuple[str, ...]) -> None:
    assert codings(header) == names
