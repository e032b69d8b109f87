"""Page bytes in the store: bytes a snapshot for zlib, zstd and the store's own way, milliseconds to write and to restore.

    bench_storage.py [--pages 60] [--revisions 40] [--dev FOLDER]

Histories are consecutive revisions of real pages where the shared corpus is beside the checkout (or in FOLDER), else made up.
The last lines write whole histories through the store, rows and files included, on an empty SQLite database: CPU of `put`
and of `get` against one zstd file per digest.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import statistics
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import zstandard

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

DEV = Path(__file__).resolve().parents[3] / "shared" / "bench" / "detect" / "dev"


def real(folder: Path, pages: int, revisions: int) -> list[list[bytes]]:
    """Histories of the corpus: each revision that differs from the one before."""
    meta = [json.loads(line) for line in (folder / "pages.jsonl").read_text().splitlines()]
    random.Random(5).shuffle(meta)
    return [_history(folder, entry["page"], revisions) for entry in meta[:pages]]


def _history(folder: Path, page: str, revisions: int) -> list[bytes]:
    with (folder / "pages" / f"{page}.jsonl.zst").open("rb") as file:
        raw = zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(file).read()
    history: list[bytes] = []
    for line in raw.split(b"\n"):
        if line and (body := json.loads(line)["html"].encode("utf-8", "surrogatepass")) not in history[-1:]:
            history.append(body)
    return history[:revisions]


def made_up(pages: int, revisions: int) -> list[list[bytes]]:
    """Histories of pages that nobody wrote: a template, articles, a token and an edit or two at each revision."""
    return [_made_up(random.Random(number), revisions) for number in range(pages)]


def _made_up(rng: random.Random, revisions: int) -> list[bytes]:
    vocabulary = ["".join(rng.choices("etaoinshrdlu", k=rng.randint(2, 10))) for _ in range(3_000)]
    blocks = [f"<p class=c{n % 9}>{' '.join(rng.choices(vocabulary, k=60))}</p>" for n in range(300)]
    history = []
    for number in range(revisions):
        for _ in range(rng.randint(1, 3)):
            blocks[rng.randrange(300)] = f"<p>{' '.join(rng.choices(vocabulary, k=60))}</p>"
        if number % 13 == 12:
            rng.shuffle(blocks)
        history.append(f"<html><meta name=token content={rng.getrandbits(128):x}>{''.join(blocks)}".encode())
    return history


class Timer:
    """CPU milliseconds of calls."""

    def __init__(self) -> None:
        self.ms: list[float] = []

    def __call__[T](self, call: Callable[[], T]) -> T:
        began = time.process_time_ns()
        value = call()
        self.ms.append((time.process_time_ns() - began) / 1e6)
        return value


def alone(
    histories: list[list[bytes]], pack: Callable[[bytes], bytes], unpack: Callable[[bytes], bytes]
) -> tuple[int, Timer, Timer]:
    """Stored bytes and times where every snapshot is compressed by itself."""
    total, write, restore = 0, Timer(), Timer()
    for body in _every(histories):
        packed = write(lambda body=body: pack(body))  # type: ignore[misc]
        assert restore(lambda packed=packed: unpack(packed)) == body  # type: ignore[misc]
        total += len(packed)
    return total, write, restore


def with_keyframes(histories: list[list[bytes]]) -> tuple[int, Timer, Timer]:
    """The same for the store's rule, without rows and files; restoring a delta includes restoring its keyframe."""
    from monitoring.storage import packing

    total, write, restore = 0, Timer(), Timer()
    for history in histories:
        key: bytes | None = None
        key_packed, wear = b"", packing.Wear()
        for body in history:
            packed, is_delta = write(lambda: _choose(packing, body, key, key_packed, wear))  # noqa: B023 - called at once
            if is_delta:
                least = min(wear.least_bytes, len(packed)) if wear.count else len(packed)
                wear = packing.Wear(wear.count + 1, wear.total_bytes + len(packed), least)
            else:
                key, key_packed, wear = body, packed, packing.Wear()
            assert key is not None
            assert restore(lambda: _restore(packing, packed, len(body), key_packed, len(key), is_delta)) == body  # noqa: B023
            total += len(packed)
    return total, write, restore


def _choose(packing: Any, body: bytes, key: bytes | None, key_packed: bytes, wear: Any) -> tuple[bytes, bool]:
    if key is not None:
        delta = packing.pack_delta(body, key)
        if not packing.wears_out(wear, len(delta), len(key_packed) * len(body) / len(key)):
            return delta, True
    return packing.pack(body), False


def _restore(packing: Any, packed: bytes, size: int, key_packed: bytes, key_size: int, is_delta: bool) -> bytes:
    key = packing.unpack(key_packed, size_bytes=key_size) if is_delta else None
    body: bytes = packing.unpack(packed, size_bytes=size, keyframe=key)
    hashlib.sha256(body).hexdigest()
    return body


def _every(histories: list[list[bytes]]) -> Iterator[bytes]:
    for history in histories:
        yield from history


def prepare(folder: str) -> None:
    """An empty product in a folder."""
    os.environ |= {
        "TIDELINE_DATA": folder,
        "TIDELINE_DATABASE": f"sqlite://{folder}/bench.sqlite3",
        "TIDELINE_LOG_LEVEL": "WARNING",
        "DJANGO_SETTINGS_MODULE": "config.settings",
    }
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", interactive=False, verbosity=0)


def through_the_store(histories: list[list[bytes]]) -> None:
    """`put` and `get` with rows, files and syncs."""
    from monitoring import storage
    from monitoring.models import Payload

    for name, related in (("one file a digest", False), ("keyframes", True)):
        Payload.objects.exclude(keyframe=None).delete()
        Payload.objects.all().delete()
        storage.forget()
        put, get, rows = Timer(), Timer(), []
        for history in histories:
            last = None
            for body in history:
                last = put(lambda: storage.put(body, like=last if related else None))  # noqa: B023 - called at once
                rows.append(last.pk)
        for pk in random.Random(3).sample(rows, min(len(rows), 400)):
            storage.forget()
            get(lambda: storage.get(Payload.objects.get(pk=pk)))  # noqa: B023 - called at once
        print(f"  {name:20} put {_figures(put)}   get, nothing held in memory {_figures(get)}")


def _figures(timer: Timer) -> str:
    ms = sorted(timer.ms)
    return f"median {statistics.median(ms):5.2f} ms, p99 {ms[int(len(ms) * 0.99)]:6.2f}, worst {ms[-1]:6.2f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=60)
    parser.add_argument("--revisions", type=int, default=40)
    parser.add_argument("--dev", type=Path, default=DEV)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        prepare(folder)
        report(options)


def report(options: argparse.Namespace) -> None:
    """Measure and print."""
    known = (options.dev / "pages.jsonl").is_file()
    histories = real(options.dev, options.pages, options.revisions) if known else made_up(20, options.revisions)
    count = sum(len(history) for history in histories)
    mean = sum(map(len, _every(histories))) / count
    what = "real pages" if known else "made-up pages (the shared corpus is not here)"
    print(f"{len(histories)} {what}, {count} snapshots, {mean / 1000:.0f} KB each")
    rows = {
        "zlib 6": alone(histories, lambda body: zlib.compress(body, 6), zlib.decompress),
        "zstd 3": alone(histories, lambda body: zstandard.compress(body, 3), zstandard.decompress),
        "the store": with_keyframes(histories),
    }
    base = rows["zstd 3"][0]
    for name, (total, write, restore) in rows.items():
        print(
            f"  {name:10} {total / count:8.0f} B a snapshot, 1/{base / total:.2f} of zstd 3   write {_figures(write)}   restore {_figures(restore)}"
        )
    print("with rows and files:")
    through_the_store(histories[:12])


if __name__ == "__main__":
    main()
