"""CPU time from HTML to fingerprint, beside the founding code, on the same pages in one run.

Run: python tests/benchmarks/bench_fingerprint.py [--pages N] [--rounds N] [--hostile-only]

"quick" parses, takes the visible text, folds, masks and fingerprints. "read" does the same through the whole
reading (blocks, region, hidden text), which is what a check pays. "fields" adds a product's fields from the
tree that "quick" parsed. The founding code is imported from ../shared/bench/detect/seed_baseline.py when it is
there and its rows are left out when it is not. Pages are real ones from ../shared/bench when present, else
fictional. Ends with 1 when the quick path is less than 8 times as fast as the founding code, or when a hostile
megabyte takes more than a second.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import json
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from selectolax.lexbor import LexborHTMLParser

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from monitoring.detection.fields import DEFAULT_FIELDS, extract_fields  # noqa: E402
from monitoring.detection.fingerprint import fingerprint, simhash, text_hash  # noqa: E402
from monitoring.detection.normalise import mask, normalise  # noqa: E402
from monitoring.detection.read import read  # noqa: E402
from monitoring.detection.volatile import find  # noqa: E402

BENCH = ROOT.parent / "shared" / "bench"
LEAST_RATIO = 8
MOST_HOSTILE_S = 1.0
_DROPPED = ["script", "style", "noscript", "svg", "template"]

HOSTILE = {
    "token- to 1 MB": "token-" * 175_000,
    "< to 1 MB": "<" * 1_000_000,
    "<script> to 1 MB": "<script>" * 130_000,
    "200,000 <div>": "<div>" * 200_000,
    "200,000 <div> with text": "<div>x " * 200_000,
}
HOSTILE_TEXTS = {
    "clocks to 1 MB": "12:30 " * 170_000,
    "marks to 1 MB": "a\u0315\u0300" * 200_000,
    "ids to 1 MB": "deadbeefdeadbeefdeadbeefdead1-token-" * 28_000,
}


def quick_text(html: str) -> str:
    """The visible text of a page, without a reading's care."""
    return _text_of(LexborHTMLParser(html))


def _text_of(tree: LexborHTMLParser) -> str:
    tree.strip_tags(_DROPPED)
    return tree.body.text(separator=" ") if tree.body is not None else ""


def quick(html: str) -> int:
    """HTML to fingerprint."""
    return simhash(mask(quick_text(html)).text)


def quick_with_fields(html: str) -> int:
    """HTML to fingerprint and fields, parsed once."""
    tree = LexborHTMLParser(html)
    extract_fields(html, DEFAULT_FIELDS["product"], tree=tree)
    return simhash(mask(_text_of(tree)).text)


def whole(html: str) -> int:
    """HTML to fingerprint through the reading."""
    return fingerprint(read(html))


def seed_module() -> ModuleType | None:
    """The founding code, where the shared benchmarks are at hand."""
    path = BENCH / "detect" / "seed_baseline.py"
    spec = importlib.util.spec_from_file_location("seed_baseline", path) if path.exists() else None
    if spec is None or spec.loader is None:
        return None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def real_pages(limit: int) -> list[str]:
    """Pages of the shared extraction benchmark, a fixed choice; none when it is not there."""
    path = BENCH / "extract" / "speed.jsonl.gz"
    if not path.exists():
        return []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line)["html"] for line, _ in zip(lines, range(limit), strict=False)]


def fictional_pages(limit: int) -> list[str]:
    """Pages of invented prose with the usual furniture, about 90 KB each."""
    rng = random.Random(7)
    words = ["".join(rng.choices("abcdefghilmnoprstu", k=rng.randint(2, 10))) for _ in range(3_000)]
    pages = []
    for number in range(limit):
        links = "".join(
            f'<li class="menu-item"><a href="/{w}" data-id="{rng.random()}">{w}</a></li>'
            for w in rng.choices(words, k=150)
        )
        prose = "".join(
            f"<p class='text body-{n}'>{' '.join(rng.choices(words, k=60))} at 12:{n:02} on 2024-05-17.</p>"
            for n in range(40)
        )
        script = "<script>" + "var a=function(b){return b<1?0:b};" * 800 + "</script>"
        pages.append(
            f"<!doctype html><html><head><title>Page {number}</title>{script}</head><body><ul>{links}</ul><main>{prose}</main></body></html>"
        )
    return pages


def cost_ms(work: Callable[[str], object], pages: list[str], rounds: int) -> float:
    """CPU milliseconds a page, the best of the rounds after one that warms up."""
    best = float("inf")
    for _ in range(rounds + 1):
        start = time.process_time()
        for page in pages:
            work(page)
        best = min(best, time.process_time() - start)
    return 1000 * best / len(pages)


def cost_once_ms(work: Callable[[str], object], pages: list[str]) -> float:
    """CPU milliseconds a page in a single pass; the founding code needs no warming and much time."""
    start = time.process_time()
    for page in pages:
        work(page)
    return 1000 * (time.process_time() - start) / len(pages)


def report_stages(pages: list[str], rounds: int, seed: ModuleType | None) -> float:
    """Print the stages beside the founding code's; the ratio of the quick path (infinite without it)."""
    texts = [quick_text(page) for page in pages]
    folded = [normalise(text) for text in texts]
    masked = [mask(text).text for text in folded]
    readings = {page: read(page) for page in pages}
    rows = {
        "parse and text": cost_ms(quick_text, pages, rounds),
        "fold": cost_ms(normalise, texts, rounds),
        "find volatile": cost_ms(find, folded, rounds),
        "simhash": cost_ms(simhash, masked, rounds),
        "exact hash": cost_ms(lambda page: text_hash(readings[page]), pages, rounds),
        "quick": cost_ms(quick, pages, rounds),
        "quick + fields": cost_ms(quick_with_fields, pages, rounds),
        "read": cost_ms(whole, pages, rounds),
    }
    theirs: dict[str, float] = {}
    if seed is not None:
        total = cost_once_ms(lambda page: seed.simhash(seed.normalise(page)), pages)
        theirs = {"quick": total, "quick + fields": total, "read": total}
        theirs["simhash"] = cost_once_ms(seed.simhash, masked)
    for name, ms in rows.items():
        beside = f"   founding code {theirs[name]:8.2f} ms   ratio {theirs[name] / ms:5.1f}" if name in theirs else ""
        print(f"{name:16}{ms:8.3f} ms/page{beside}")
    return theirs["quick"] / rows["quick"] if theirs else float("inf")


def report_hostile() -> float:
    """Print what hostile megabytes cost, pages through the reading and texts from folding on; the worst, in CPU seconds."""
    work: list[tuple[str, Callable[[str], object], str]] = [(name, whole, page) for name, page in HOSTILE.items()]
    work += [(name, lambda text: simhash(mask(text).text), text) for name, text in HOSTILE_TEXTS.items()]
    worst = 0.0
    for name, task, text in work:
        took = cost_once_ms(task, [text]) / 1000
        worst = max(worst, took)
        print(f"{name:28}{took:7.3f} s")
    return worst


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--hostile-only", action="store_true")
    options = parser.parse_args()
    ratio = float("inf")
    if not options.hostile_only:
        real = real_pages(options.pages)
        pages = real or fictional_pages(options.pages)
        size = sum(map(len, pages)) / len(pages) / 1000
        print(f"{len(pages)} {'real' if real else 'fictional'} pages, mean {size:.0f} thousand characters")
        seed = seed_module()
        ratio = report_stages(pages, options.rounds, seed)
        print(f"FIGURE fingerprint ratio {ratio:.1f}" if seed else "the founding code is not at hand; no ratio")
    worst = report_hostile()
    print(f"FIGURE hostile worst {worst:.3f} s")
    return 1 if ratio < LEAST_RATIO or worst > MOST_HOSTILE_S else 0


if __name__ == "__main__":
    sys.exit(main())
