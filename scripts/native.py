"""Compile the hot modules of the detector with mypyc into the environment; `--present` asks whether that was done."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from monitoring.detection.native import MODULES, home, key

ROOT = Path(__file__).resolve().parents[1]
KEPT = 4  # versions that stay compiled: going back to one costs nothing
PACKAGE = Path("monitoring") / "detection"
CONFIG = "[mypy]\nstrict = True\nignore_missing_imports = True\n"


def main() -> int:
    """0 when the compiled modules are there afterwards, or when failing was only told."""
    target = home() / key()
    if "--present" in sys.argv:
        return 0 if (target / "complete").exists() else 1
    with tempfile.TemporaryDirectory() as work:
        error = _compiled(Path(work))
        if error:
            print(f"The detector was not compiled and runs from its sources: {error}", file=sys.stderr)
            return 0
        _moved(Path(work), target)
    versions = sorted(home().iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
    for old in versions[KEPT:]:
        shutil.rmtree(old, ignore_errors=True)
    return 0


def _compiled(work: Path) -> str:
    """What went wrong with compiling in the folder `work`, or ""."""
    (work / PACKAGE).mkdir(parents=True)
    (work / "monitoring" / "__init__.py").touch()
    for source in (ROOT / PACKAGE).glob("*.py"):
        shutil.copy(source, work / PACKAGE)
    (work / PACKAGE / "__init__.py").write_text("")
    (work / "mypy.ini").write_text(CONFIG)
    command = [sys.executable, "-m", "mypyc", *(str(PACKAGE / f"{name}.py") for name in MODULES)]
    done = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = f"{done.stdout}\n{done.stderr}".strip().splitlines()
        errors = [line for line in lines if "error" in line.lower()]
        return (errors or lines or [f"mypyc ended with {done.returncode}"])[-1]
    return ""


def _moved(work: Path, target: Path) -> None:
    """Put what was compiled in its place; a half-filled folder is never taken for a whole one."""
    fresh = target.with_name(f".{target.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    (fresh / PACKAGE).mkdir(parents=True)
    for library in work.glob("*__mypyc*.so"):
        shutil.move(library, fresh)
    for name in MODULES:
        for library in (work / PACKAGE).glob(f"{name}.*.so"):
            shutil.move(library, fresh / PACKAGE)
    (fresh / "complete").touch()
    shutil.rmtree(target, ignore_errors=True)
    fresh.rename(target)


if __name__ == "__main__":
    raise SystemExit(main())
