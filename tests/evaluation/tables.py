"""`make eval`: scores the detector and the main-content rule on the shared corpora, where they are present, and on ours."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared" / "bench"


def run(*command: str) -> int:
    """Run one scorer from the project's root, its output on ours."""
    print(f"\n$ {' '.join(command)}", flush=True)
    return subprocess.run([sys.executable, *command], cwd=ROOT, check=False).returncode


def main() -> int:
    """The gate on shipped pages first, then the shared sets; the exit status is the worst of them."""
    worst = run("-m", "pytest", "-q", "-n0", "tests/evaluation", "--no-header")
    detect, extract = SHARED / "detect" / "bench_detect.py", SHARED / "extract" / "bench_extract.py"
    if not detect.exists():
        print("\nThe shared corpora are not beside this checkout; only the shipped pages were scored.")
        return worst
    scores = "tests.evaluation.adapters:classify", "tests.evaluation.adapters:main_text"
    corpus = "--corpus", str(detect.parent / "dev"), "--tier", "gold", "--per-page", "6", "--synth", "40"
    worst = max(worst, run(str(detect), scores[0], *corpus))
    worst = max(worst, run(str(extract), scores[1]))
    for peer in ("baselines:trafilatura", "baselines:tag_density"):
        worst = max(worst, run(str(extract), peer, "--speed", "/nonexistent", "--stability", "/nonexistent"))
    return worst


if __name__ == "__main__":
    sys.exit(main())
