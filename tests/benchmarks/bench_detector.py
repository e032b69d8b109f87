"""CPU of the detector's steps, medians over pages: reading, judging old -> new, and finding that the text is unchanged.

Run: python tests/benchmarks/bench_detector.py [PAGES]    (python -X pure ... for the sources, not compiled)

The pages are labelled pairs of the shared folder when it is beside this checkout, fictional ones otherwise. Each figure
stands beside a floor of the same run: lexbor's parse of the same markup, and its text without any structure.

read       `read(new)`: blocks, regions, places.
judge      all of it for a page whose text differs: reading, both hashes, fingerprint, quality gate against the baseline,
           the judgement. The old reading and the monitor's memory are prepared, as the product has them.
unchanged  all of it for a page whose bytes differ and whose text does not: skim and hash.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from selectolax.lexbor import LexborHTMLParser

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from monitoring.detection.fingerprint import fingerprint, text_hash  # noqa: E402
from monitoring.detection.judge import judge  # noqa: E402
from monitoring.detection.judgement import Settings  # noqa: E402
from monitoring.detection.native import is_native  # noqa: E402
from monitoring.detection.quality import PageFacts, assess  # noqa: E402
from monitoring.detection.read import read, skim  # noqa: E402
from tests.evaluation.classify import remembered  # noqa: E402

CORPUS = ROOT.parent / "shared" / "bench" / "detect" / "dev"
MUST_MS = {"read": 3.0, "judge": 6.0, "unchanged": 2.5}
ROUNDS = 3

type Case = tuple[list[str], str, str]  # earlier captures, old, new


def _corpus(most: int) -> list[Case]:
    """One labelled pair of each of `most` pages, the same at every run."""
    import zstandard

    pairs: dict[str, list[dict[str, int]]] = defaultdict(list)
    with (CORPUS / "manifest.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            pair = json.loads(line)
            if pair["label"] in ("content", "noise"):
                pairs[pair["page"]].append(pair)
    cases = []
    for page in sorted(pairs)[:most]:
        raw = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(
            (CORPUS / "pages" / f"{page}.jsonl.zst").open("rb")
        )
        html = {row["rev"]: row["html"] for row in map(json.loads, filter(None, raw.read().split(b"\n")))}
        pair = random.Random(page).choice(pairs[page])
        earlier = [html[rev] for rev in sorted(html) if rev < pair["old"]][-3:]
        cases.append((earlier, html[pair["old"]], html[pair["new"]]))
    return cases


def _fictional(most: int) -> list[Case]:
    def page(number: int, weeks: int) -> str:
        clauses = "".join(
            f"<section class='c{n}'><h2>Section {n}</h2><div><p>Branch {number} keeps record {n} of every loan for "
            f"{weeks if n == 7 else n + 2} weeks, and <a href='/r/{n}'>deletes it</a> once the book is back.</p></div>"
            "</section>"
            for n in range(200)
        )
        return f"<html lang=en><title>Notice {number}</title><body><nav><a href=/>Home</a></nav><main>{clauses}</main>"

    return [([page(n, 5)], page(n, 5), page(n, 6)) for n in range(most)]


def _cpu_ms(work: Callable[[], object]) -> float:
    """The least of a few rounds: what else the machine does can only add."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return 1000 * best


def measure(case: Case) -> dict[str, float]:
    """CPU milliseconds of each step for one pair."""
    earlier, old_html, new_html = case
    page = new_html.encode("utf-8", "replace")
    old = read(old_html)
    memory, at = remembered([*map(read, earlier), old])
    old_print = fingerprint(old)

    def whole() -> object:
        new = read(new_html, remembered_region=old.region_path)
        text_hash(new)
        assess(PageFacts(html=new_html), new, old)
        later = at + timedelta(days=1)
        return judge(old, new, memory, settings=Settings(), old_at=at, now=later, old_fingerprint=old_print)

    return {
        "parse": _cpu_ms(lambda: LexborHTMLParser(page)),
        "text": _cpu_ms(lambda: (LexborHTMLParser(page).root or LexborHTMLParser("").root).text_lexbor()),  # type: ignore[union-attr]
        "read": _cpu_ms(lambda: read(new_html)),
        "judge": _cpu_ms(whole),
        "unchanged": _cpu_ms(lambda: text_hash(skim(new_html))),
    }


def main() -> int:
    """Print the medians; 1 when one misses its mark."""
    most = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    cases = _corpus(most) if CORPUS.exists() else _fictional(min(most, 20))
    rows = [measure(case) for case in cases]
    kind = "compiled" if is_native() else "from sources"
    size = sum(len(case[2]) for case in cases) / len(cases) / 1000
    print(f"{len(cases)} pages of {size:.0f} KB, modules {kind}, Python {sys.version.split()[0]}")
    missed = 0
    for name in rows[0]:
        values = sorted(row[name] for row in rows)
        median, late = statistics.median(values), values[int(0.95 * (len(values) - 1))]
        must = MUST_MS.get(name)
        verdict = "" if must is None else f"must {must}: {'ok' if median <= must else 'MISSED'}"
        missed += must is not None and median > must
        print(f"{name:10s} median {median:6.2f} ms   p95 {late:6.2f} ms   {verdict}")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
