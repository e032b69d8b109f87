"""CPU per check beside changedetection.io: the same real pages over loopback, round by round, in one run.

Run: python tests/benchmarks/bench_peers.py [PAGES]

Needs the shared folder beside this checkout (`bench/peers`), and changedetection.io in an environment of its own, named by
CHANGEDETECTION (the path of its program) or found as `changedetection.io` on the PATH:
    python3 -m venv /somewhere && /somewhere/bin/pip install changedetection.io psutil

Ours is one worker process, database and store included, on SQLite with the product's settings. The peer is its whole process
tree, as the shared script measures it. Rounds: first visit, same bytes, bytes differ and text does not, a tenth changed.
Of the third round ours is shown twice: the first time, and once its moulds are learned (a page's later visits).
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.benchmarks.worker import fill, prepare, visit_all  # noqa: E402

PEERS = ROOT.parent / "shared" / "bench" / "peers"
MUST = {"bytes differ, text same": 20, "same bytes": 8, "10 % changed, bytes differ on all": 8}
_ROW = re.compile(r"^(?P<round>[^:]+): (?P<done>\d+)/\d+ in .*?; (?P<ms>[\d.]+) ms CPU a check")


def _pageset(*words: str) -> None:
    subprocess.run([sys.executable, str(PEERS / "pageset.py"), *words], check=True)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def _round() -> float:
    """Visit every monitor once: CPU milliseconds a check."""
    done, cpu, _ = visit_all()
    return 1000 * cpu / done


def _ours(folder: str, port: int, count: int) -> dict[str, float]:
    """CPU milliseconds a check of each round."""
    pages = f"{folder}/pages"
    prepare(folder, port)
    fill(f"http://127.0.0.1:{port}/p{n}.html" for n in range(count))
    found = {"first": _round(), "same bytes": _round()}
    _pageset("nonce", pages)
    found["bytes differ, first time"] = _round()
    _pageset("nonce", pages)
    _round()
    _pageset("nonce", pages)
    found["bytes differ, text same"] = _round()
    _pageset("nonce", pages)
    _pageset("change", pages, "a")
    found["10 % changed, bytes differ on all"] = _round()
    from monitoring.models import Change

    print(f"changes found: {Change.objects.count()} of {(count + 9) // 10}")
    return found


def _theirs(program: str, folder: str, port: int, count: int) -> dict[str, float]:
    """CPU milliseconds a check of each round, as the shared script tells them."""
    peer = Path(program).resolve().parent / "python"
    command = [str(peer if peer.exists() else sys.executable), str(PEERS / "changedetection.py"), program, str(count)]
    done = subprocess.run([*command, str(port), folder], capture_output=True, text=True, timeout=1800, check=False)
    rows = [match for line in done.stdout.splitlines() if (match := _ROW.match(line))]
    if not rows:
        print(done.stdout[-500:], done.stderr[-1500:])
    return {row["round"]: float(row["ms"]) for row in rows}


def main() -> int:
    """Print the ratios; 1 when one misses its mark."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 80
    program = os.environ.get("CHANGEDETECTION") or shutil.which("changedetection.io")
    if not PEERS.exists() or not program:
        print("needs the shared folder and changedetection.io (see this file's first lines)")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        _pageset("make", f"{folder}/pages", str(count))
        port = _free_port()
        server = subprocess.Popen([sys.executable, str(PEERS / "pageset.py"), "serve", f"{folder}/pages", str(port)])
        try:
            ours = _ours(folder, port, count)
            shutil.rmtree(f"{folder}/pages")
            _pageset("make", f"{folder}/pages", str(count))
            theirs = _theirs(program, folder, port, count)
        finally:
            server.terminate()
            server.wait()
    missed = 0
    print(f"{count} pages; ms CPU a check")
    for name, ms in ours.items():
        other = theirs.get(name, theirs.get("bytes differ, text same") if name.startswith("bytes") else None)
        ratio = other / ms if other else 0.0
        must = MUST.get(name)
        missed += must is not None and ratio < must
        verdict = "" if must is None else f"must {must}x: {'ok' if ratio >= must else 'MISSED'}"
        print(f"{name:36s} ours {ms:6.2f}   changedetection.io {other or 0:7.2f}   {ratio:5.1f}x   {verdict}")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
