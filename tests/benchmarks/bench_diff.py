"""CPU time of the diff on pages of generated, fictional text, beside two well-known libraries.

Run: python tests/benchmarks/bench_diff.py [--alone] [--rounds N]

small: one word replaced, added or removed in 0.5 % of the sentences; large: in 30 %; rewrite: sentences shuffled, and the words inside each.
"one block" puts the whole text into a single paragraph. Peers get the page as one text: diff-match-patch in its
character mode with its time-out of one second, and difflib on words with no time-out (only where it ends today). `--alone` leaves them out. Ends with 1 when a page takes longer
than it must.
"""

from __future__ import annotations

import argparse
import difflib
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

import diff_match_patch

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from monitoring.detection.blocks import Block, Reading  # noqa: E402
from monitoring.detection.diff import diff  # noqa: E402

EDITS = ("small", "large", "rewrite")
SIZES = (1_000, 10_000, 50_000)
MOST_MS = {(10_000, "large"): 50, (10_000, "rewrite"): 200, **{(50_000, edit): 500 for edit in EDITS}}
_SYLLABLES = ("ba", "lo", "mi", "ren", "tas", "ku", "vel", "do", "sha", "ni", "por", "ge", "ti", "an", "sor", "ley")


def make_vocabulary(rng: random.Random, size: int = 4_000) -> tuple[list[str], list[float]]:
    """Invented words, and weights as uneven as those of a language."""
    words = [
        "".join(rng.choice(_SYLLABLES) for _ in range(1 + k * 4 // size)) + str(k % 7) * (k % 50 == 0)
        for k in range(size)
    ]
    return words, [1 / (k + 3) for k in range(size)]


def make_sentences(rng: random.Random, count: int) -> list[list[str]]:
    """About `count` words in sentences of 6 to 24."""
    words, weights = make_vocabulary(rng)
    sentences: list[list[str]] = []
    while count > 0:
        size = rng.randint(6, 24)
        sentences.append(rng.choices(words, weights, k=size))
        count -= size
    return sentences


def edited(rng: random.Random, sentences: list[list[str]], edit: str) -> list[list[str]]:
    """The same sentences after one of the three edits."""
    new = [list(sentence) for sentence in sentences]
    if edit == "rewrite":
        rng.shuffle(new)
        for sentence in new:
            rng.shuffle(sentence)
        return new
    share = 0.005 if edit == "small" else 0.3
    for sentence in rng.sample(new, max(1, round(len(new) * share))):
        at = rng.randrange(len(sentence))
        word = f"changed{rng.randrange(1000)}"
        what = rng.choice(("replace", "add", "remove"))
        sentence[at : at + (what != "add")] = [word] if what != "remove" else []
    return new


def as_reading(sentences: list[list[str]], *, per_block: int) -> Reading:
    """Paragraphs of `per_block` sentences."""
    texts = [" ".join(sentence).capitalize() + "." for sentence in sentences]
    return Reading(
        tuple(
            Block(" ".join(texts[at : at + per_block]), "p", "body/p", f"body/p[{at // per_block}]")
            for at in range(0, len(texts), per_block)
        ),
        lang="en",
    )


def cpu_ms(call: Callable[[], object], rounds: int) -> float:
    """The least CPU time of `rounds` calls, in milliseconds; the least is the one others disturbed least."""
    best = float("inf")
    for _ in range(rounds):
        started = time.process_time()
        call()
        best = min(best, time.process_time() - started)
    return best * 1000


def character_mode(old: str, new: str) -> object:
    differ = diff_match_patch.diff_match_patch()
    differ.Diff_Timeout = 1.0
    return differ.diff_main(old, new)


def word_mode(old: str, new: str) -> object:
    return difflib.SequenceMatcher(None, old.split(), new.split(), autojunk=False).get_opcodes()


def run(*, rounds: int, peers: bool) -> int:
    """Prints the table; 1 when one of our figures is over its limit, else 0."""
    missed = 0
    header = f"{'words':>7} {'edit':<8} {'blocks':<10} {'ms':>8} {'places':>7} {'simplified':>10}"
    print(header + (f" {'dmp char':>9} {'ratio':>6} {'difflib':>9} {'ratio':>6}" if peers else ""))
    for size in SIZES:
        for edit in EDITS:
            for name, per_block in (("paragraphs", 5), ("one block", 10**9)):
                rng = random.Random(f"{size} {edit}")
                sentences = make_sentences(rng, size)
                old = as_reading(sentences, per_block=per_block)
                new = as_reading(edited(rng, sentences, edit), per_block=per_block)
                ours = cpu_ms(lambda old=old, new=new: diff(old, new), rounds)  # type: ignore[misc]
                document = diff(old, new)
                line = f"{size:>7} {edit:<8} {name:<10} {ours:>8.1f} {document['places']:>7} {document['simplified']!s:>10}"
                if peers and per_block == 5:
                    line += peer_columns(old.text, new.text, ours, size)
                if ours > MOST_MS.get((size, edit), float("inf")):
                    missed = 1
                    line += f"  over {MOST_MS[size, edit]} ms"
                print(line, flush=True)
    return missed


def peer_columns(old: str, new: str, ours: float, size: int) -> str:
    """Times of the peers and how many times ours they take; difflib only on the small page."""
    characters = cpu_ms(lambda: character_mode(old, new), 1)
    columns = f" {characters:>9.1f} {characters / ours:>6.1f}"
    if size <= 1_000:
        words = cpu_ms(lambda: word_mode(old, new), 1)
        columns += f" {words:>9.1f} {words / ours:>6.1f}"
    return columns


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--alone", action="store_true", help="without diff-match-patch and difflib beside")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    sys.exit(run(rounds=options.rounds, peers=not options.alone))
