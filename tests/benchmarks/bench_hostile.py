"""What the dearest hostile pages cost to read and judge, each in a process of its own, against what they may.

Run: python tests/benchmarks/bench_hostile.py [SHOWN]

CPU seconds and peak memory of our own cases and, where it is beside this checkout, of the shared catalogue. A page may
take 1 s and a pair 2 s, and 300 MB. The cheapest of up to three runs counts. Exits with 1 where a case takes more.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.hostile import chain  # noqa: E402
from tests.hostile.test_catalogue import MOST_MB  # noqa: E402


def main(shown: int) -> int:
    """Print the dearest cases and return how many took more than they may."""
    told = [*chain.outcomes("ours").values()]
    if chain.load() is not None:
        told += chain.outcomes("catalogue").values()
    told.sort(key=lambda one: one.cpu_s / chain.limit_s(one.name), reverse=True)
    over = [one for one in told if one.ended or one.cpu_s > chain.limit_s(one.name) or one.peak_mb > MOST_MB]
    print(f"{len(told)} cases, {len(over)} over their limit; the most memory {max(one.peak_mb for one in told):.0f} MB")
    print(f"{'case':<42}{'CPU s':>8}{'may':>6}{'MB':>7}  ended")
    for one in told[:shown]:
        print(f"{one.name:<42}{one.cpu_s:>8.2f}{chain.limit_s(one.name):>6.0f}{one.peak_mb:>7.0f}  {one.ended}")
    return len(over)


if __name__ == "__main__":
    sys.exit(1 if main(int(sys.argv[1]) if len(sys.argv) > 1 else 10) else 0)
