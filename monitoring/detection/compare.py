"""The founding comparison by name: one fingerprint of the whole main text, one threshold.

Kept because it is what a page type's threshold is calibrated for and what the first description promised. It is
not what decides: on a long page a removed "not" moves no bit, see `judge`.
"""

from __future__ import annotations

from monitoring.detection.fingerprint import distance, fingerprint
from monitoring.detection.judgement import Kind
from monitoring.detection.read import read

DEFAULT_THRESHOLD = 3


def compare(old_html: str, new_html: str, threshold: int = DEFAULT_THRESHOLD) -> Kind:
    """`none` for equal input, `noise` up to `threshold` bits (0..64) of fingerprint distance, else `content`.

    The text is that of the main region, folded, with clocks, dates, counters and tokens taken out. Two pages
    whose text is equal after that are `noise`: their bytes differ. Errs towards noise on long pages and towards
    content on short ones.
    """
    if old_html == new_html:
        return Kind.NONE
    bits = distance(fingerprint(read(old_html)), fingerprint(read(new_html)))
    return Kind.NOISE if bits <= threshold else Kind.CONTENT
