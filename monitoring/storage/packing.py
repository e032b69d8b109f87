"""How bytes become smaller: zstd alone (a keyframe), or zstd with an earlier capture's bytes as its dictionary (a delta).

A delta rests on one keyframe and never on another delta, so one damaged object costs at most one group of captures. How
long a keyframe is used is decided from what its deltas came to (`wears_out`); docs/adr has the measured options.
"""

from __future__ import annotations

from dataclasses import dataclass

import zstandard

KEYFRAME_LEVEL = 3
DELTA_LEVEL = 6
MOST_DELTAS = 19  # of one keyframe: a group is twenty captures at most
SMALLEST_KEYFRAME = 1_024  # stored bytes; below that there is nothing to save
WORTH = 0.7  # a delta above this share of a keyframe's size is not worth being one
_WINDOW_LOG = 17, 27
_LARGE_LOG = 22


@dataclass(frozen=True, slots=True)
class Wear:
    """The deltas of a keyframe until now: how many, their stored bytes, those of the smallest."""

    count: int = 0
    total_bytes: int = 0
    least_bytes: int = 0


def pack(body: bytes) -> bytes:
    """The bytes as a keyframe."""
    return zstandard.compress(body, KEYFRAME_LEVEL)


def pack_delta(body: bytes, keyframe: bytes) -> bytes:
    """The bytes as a delta against those of a keyframe."""
    reach = (len(body) + len(keyframe)).bit_length()  # the window has to see the keyframe's first byte from the last
    low, high = _WINDOW_LOG
    # A large keyframe would overwrite its own beginning in tables of the usual size.
    tables = {"hash_log": _LARGE_LOG, "chain_log": _LARGE_LOG} if reach >= _LARGE_LOG else {}
    parameters = zstandard.ZstdCompressionParameters.from_level(
        DELTA_LEVEL, window_log=min(max(reach, low), high), **tables
    )
    return zstandard.ZstdCompressor(dict_data=_dictionary(keyframe), compression_params=parameters).compress(body)


def unpack(packed: bytes, *, size_bytes: int, keyframe: bytes | None = None) -> bytes:
    """The bytes again; never more than `size_bytes`. Raises ValueError, which says what is wrong."""
    try:
        declared = zstandard.frame_content_size(packed)
        if declared > size_bytes:
            raise ValueError(f"holds {declared} bytes, expected {size_bytes}")
        dictionary = None if keyframe is None else _dictionary(keyframe)
        decompressor = zstandard.ZstdDecompressor(dict_data=dictionary)
        return decompressor.decompress(packed, max_output_size=max(size_bytes, 1))
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from error


def wears_out(wear: Wear, delta_bytes: int, keyframe_bytes: float) -> bool:
    """Whether a new keyframe is due instead of this delta.

    What the deltas cost above the smallest of them is what the page has moved away from its keyframe. Once that adds up
    to a keyframe, a new one has paid for itself: against the best choice in hindsight this costs at most twice.
    """
    if wear.count >= MOST_DELTAS or delta_bytes >= keyframe_bytes * WORTH:
        return True
    least = min(wear.least_bytes, delta_bytes) if wear.count else delta_bytes
    return wear.total_bytes + delta_bytes - (wear.count + 1) * least >= keyframe_bytes


def _dictionary(keyframe: bytes) -> zstandard.ZstdCompressionDict:
    return zstandard.ZstdCompressionDict(keyframe, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
