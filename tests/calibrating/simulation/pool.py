"""Pairs judged once: what a capture's difference came to, and whether it mattered. Figures and labels, no texts."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from monitoring.calibrating.evidence import SHORT_WORDS
from monitoring.detection.blocks import Reading
from monitoring.detection.fingerprint import length
from monitoring.detection.joint import same_region
from monitoring.detection.judge import judge
from monitoring.detection.judgement import Settings
from monitoring.detection.memory import Memory
from monitoring.detection.read import read
from tests.calibrating.simulation import pairs
from tests.evaluation.classify import is_good, remembered

CORPUS = Path(__file__).resolve().parents[4] / "shared" / "bench" / "detect" / "dev"


@dataclass(frozen=True, slots=True)
class Event:
    """One visit that met a difference: the judge's figures, the truth, and the page it is of."""

    score: float
    distance: int
    main: float
    matters: bool
    page: str
    kind: str = ""
    short: bool = False


def event(old: Reading, new: Reading, memory: Memory, *, matters: bool, page: str, kind: str) -> Event:
    """The pair as the detector judges it."""
    before, after = same_region(old, new)
    found = judge(before, after, memory, settings=Settings())
    words = length(new)
    return Event(found.score, found.distance, found.main, matters, page, kind, words < SHORT_WORDS)


def synthetic(pages: Sequence[int], kinds: Sequence[str]) -> list[Event]:
    """Events of our own pages: each page with each edit and each noise of these kinds."""
    found = []
    for seed in pages:
        for kind in kinds:
            old_html, new_html = pairs.pair(seed, kind)
            old = read(old_html)
            new = read(new_html, remembered_region=old.region_path)
            if old.blocks != new.blocks:
                found.append(event(old, new, Memory(), matters=kind in pairs.EDITS, page=f"p{seed}", kind=kind))
    return found


def real(*, per_page: int = 6, jobs: int = 1) -> list[Event]:
    """Events of the shared corpus of labelled captures; empty where it is not beside this checkout."""
    if not CORPUS.exists():
        return []
    chosen = _chosen(per_page)
    with ProcessPoolExecutor(jobs) as workers:
        return [found for part in workers.map(_of_page, sorted(chosen.items()), chunksize=4) for found in part]


def _chosen(per_page: int) -> dict[str, list[dict[str, Any]]]:
    by: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for line in (CORPUS / "manifest.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        if row["label"] in ("content", "noise") and row.get("tier") == "gold":
            by[row["page"], row["label"]].append(row)
    chosen: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for (page, label), rows in sorted(by.items()):
        random.Random(f"{page}/{label}").shuffle(rows)
        chosen[page] += rows[:per_page]
    return chosen


def _of_page(job: tuple[str, list[dict[str, Any]]]) -> list[Event]:
    page, rows = job
    html = dict(_revisions(page))
    found = []
    for row in rows:
        good: list[Reading] = []
        for number in [*[n for n in sorted(html) if n < row["old"]][-3:], row["old"]]:
            reading = read(html[number], remembered_region=good[-1].region_path if good else "")
            if is_good(html[number], reading, good[-1] if good else None):
                good.append(reading)
        new = read(html[row["new"]], remembered_region=good[-1].region_path if good else "")
        if not good or not is_good(html[row["new"]], new, good[-1]) or good[-1].blocks == new.blocks:
            continue
        memory, _ = remembered(good)
        matters = row["label"] == "content"
        found.append(event(good[-1], new, memory, matters=matters, page=page, kind=row["label"]))
    return found


def _revisions(page: str) -> Iterator[tuple[int, str]]:
    import zstandard

    with (CORPUS / "pages" / f"{page}.jsonl.zst").open("rb") as file:
        raw = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(file).read()
    for line in raw.split(b"\n"):
        if line.strip():
            row = json.loads(line)
            yield row["rev"], row["html"]
