"""Fit the weights of the substance score: `python -m tests.evaluation.fit` (`make fit-detector`).

Reads the labelled corpus that stands beside the checkout, turns every pair into the features of its unexplained
edits, fits, prints what was missed and what alarmed, and with --write replaces weights.json. With
--cross-validate N it also fits N times on one half of the services and scores the other half, which the weights
then have not seen: the two shares printed must not lie far apart.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import random
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any

import xxhash
import zstandard

from monitoring.detection.blocks import Reading
from monitoring.detection.fit import Bag, Features, fit
from monitoring.detection.judge import weigh
from monitoring.detection.judgement import Settings
from monitoring.detection.read import read
from monitoring.detection.score import FEATURES, WEIGHTS_FILE, Weights, combined
from tests.evaluation.classify import is_good, remembered

DEFAULT_CORPUS = Path("../shared/bench/detect/dev")
SYNTH_SKIP = 40  # the first bases are those that the benchmark scores
SYNTH_SHARE = 0.3  # weight of a generated pair beside a real one
CONTENT_SHARE = 1.5  # a miss costs this many alarms
PULL = 8.0


@dataclass(frozen=True, slots=True)
class Pair:
    """A labelled pair: where it is from, and the features of its unexplained edits."""

    service: str
    name: str
    is_content: bool
    edits: tuple[Features, ...]
    weight: float = 1.0

    @property
    def bag(self) -> Bag:
        """The pair as the fitting sees it."""
        return Bag(self.edits, self.is_content, self.weight * (CONTENT_SHARE if self.is_content else 1.0))


def real_pairs(corpus: Path, per_page: int) -> Iterator[Pair]:
    """The gold pairs of the corpus, at most so many of each label a page; captures that are not good are left out."""
    services = {
        row["page"]: str(row.get("service") or row["path"].split("/")[0]) for row in _rows(corpus / "pages.jsonl")
    }
    chosen: dict[str, dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for row in _rows(corpus / "manifest.jsonl"):
        if row["label"] in ("content", "noise") and row.get("tier") == "gold":
            chosen[row["page"]][row["label"]].append(row)
    for page, labels in sorted(chosen.items()):
        html = _revisions(corpus / "pages" / f"{page}.jsonl.zst")
        readings: dict[int, Reading] = {}
        for row in [row for rows in labels.values() for row in sorted(rows, key=_shuffled)[:per_page]]:
            earlier = [rev for rev in sorted(html) if rev < row["old"]][-3:]
            for rev in (*earlier, row["old"], row["new"]):
                readings.setdefault(rev, read(html[rev]))
            visits = [(html[rev], readings[rev]) for rev in (*earlier, row["old"], row["new"])]
            edits = _features(visits)
            if edits is not None:
                yield Pair(services[page], row["id"], row["label"] == "content", edits)


def generated_pairs(corpus: Path, count: int) -> Iterator[Pair]:
    """Pairs with known noise and known edits, made of pages that the benchmark does not score."""
    synth = _module(corpus.parent / "synth.py")
    bases = [base for base in synth.bases(str(corpus)) if len(base[2]) < 200_000]
    random.Random("synth").shuffle(bases)
    for number, (name, lang, html) in islice(enumerate(bases), SYNTH_SKIP, SYNTH_SKIP + count):
        other = bases[(number + 1) % len(bases)][2]
        for noise, edit in synth.sweep(html, lang, 1000 + number, other):
            if edit in ("block", "replaced"):
                continue
            try:
                pair = synth.make_pair(html, lang, noise, edit, seed=1000 + number, other=other)
            except ValueError:
                continue
            if pair is None or pair.old == pair.new:
                continue
            captures = [synth.fetch_again(pair, html, again, other) for again in ("8", "9")] + [pair.old, pair.new]
            edits = _features([(capture, read(capture)) for capture in captures])
            if edits is not None:
                yield Pair(name, f"{name} {'+'.join(noise)} {edit}", edit != "none", edits, SYNTH_SHARE)


def fitted(pairs: Iterable[Pair], start: Features) -> Weights:
    """The weights fitted on these pairs."""
    return Weights(0, fit([pair.bag for pair in pairs], start, FEATURES, pull=PULL))


def missed(pairs: Iterable[Pair], weights: Weights, cut: float = Settings().cut) -> list[Pair]:
    """Content pairs under the cut and noise pairs at or over it."""
    return [p for p in pairs if (combined([weights.of(e) for e in p.edits]) >= cut) != p.is_content]


def summary(pairs: Sequence[Pair], weights: Weights) -> str:
    """Recall and alarm of the weights on these pairs, as counts and shares."""
    wrong = missed(pairs, weights)
    content, noise = [p for p in pairs if p.is_content], [p for p in pairs if not p.is_content]
    lost, alarms = sum(p.is_content for p in wrong), sum(not p.is_content for p in wrong)
    return (
        f"recall {len(content) - lost}/{len(content)} = {100 * (1 - lost / max(1, len(content))):.1f}%  "
        f"alarm {alarms}/{len(noise)} = {100 * alarms / max(1, len(noise)):.2f}%"
    )


def cross_validate(real: Sequence[Pair], generated: Sequence[Pair], start: Features, times: int) -> None:
    """Fit on a random half of the services and score both halves; prints a line for each."""
    services = sorted({p.service for p in real})
    for seed in range(times):
        shuffled = services[:]
        random.Random(seed).shuffle(shuffled)
        half = set(shuffled[: len(shuffled) // 2])
        for kept in (half, set(services) - half):
            inside = [p for p in real if p.service in kept]
            outside = [p for p in real if p.service not in kept]
            weights = fitted([*inside, *generated], start)
            print(f"split {seed}: fitted on {summary(inside, weights)}   left out {summary(outside, weights)}")


def main() -> int:
    """Fit, report and, when asked, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, default=DEFAULT_CORPUS)
    parser.add_argument("--per-page", type=int, default=12)
    parser.add_argument("--synth", type=int, default=24, help="base pages for generated pairs")
    parser.add_argument("--cross-validate", type=int, default=0, metavar="N")
    parser.add_argument("--write", action="store_true", help="replace weights.json")
    options = parser.parse_args()
    if not (options.corpus / "manifest.jsonl").exists():
        print(f"no corpus at {options.corpus}", file=sys.stderr)
        return 2
    stored = json.loads(WEIGHTS_FILE.read_text("utf-8"))
    real = list(real_pairs(options.corpus, options.per_page))
    generated = list(generated_pairs(options.corpus, options.synth))
    weights = fitted([*real, *generated], stored["start"])
    print("real     ", summary(real, weights))
    print("generated", summary(generated, weights))
    for pair in missed(real, weights):
        print("  ", "missed " if pair.is_content else "alarmed", pair.name)
    for cut in (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
        lost = missed(real, weights, cut)
        print(f"cut {cut:.1f}: missed {sum(p.is_content for p in lost)}, alarmed {sum(not p.is_content for p in lost)}")
    cross_validate(real, generated, stored["start"], options.cross_validate)
    if options.write:
        stored["version"] += 1
        stored["weights"] = dict(weights.by_name)
        WEIGHTS_FILE.write_text(json.dumps(stored, indent=2) + "\n", "utf-8")
    return 0


def _features(visits: Sequence[tuple[str, Reading]]) -> tuple[Features, ...] | None:
    """The features of the last visit against the one before, or None when one of the two is not good."""
    good: list[Reading] = []
    for html, reading in visits:
        fine = is_good(html, reading, good[-1] if good else None)
        if fine:
            good.append(reading)
    if not fine or len(good) < 2:
        return None
    memory, _ = remembered(good[:-1])
    return tuple(weigh(good[-2], good[-1], memory, settings=Settings()))


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def _revisions(path: Path) -> Mapping[int, str]:
    with path.open("rb") as packed:
        raw = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(packed).read()
    rows = (json.loads(line) for line in raw.split(b"\n") if line.strip())
    return {row["rev"]: row["html"] for row in rows}


def _shuffled(row: Mapping[str, Any]) -> int:
    return xxhash.xxh64_intdigest(str(row["id"]).encode())


def _module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    sys.exit(main())
