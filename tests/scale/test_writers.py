"""Eight processes at one SQLite file, in short."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_eight_processes_never_find_the_file_locked() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.scale.writers", "--processes", "8", "--writes", "800"],
        cwd=Path(__file__).resolve().parents[2], capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
    assert "failed: 0" in done.stdout
