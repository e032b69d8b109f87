"""A worker that gives no sign of life ends itself, whatever it is stuck in; one that does is left alone."""

from __future__ import annotations

import subprocess
import sys

STUCK = """
from monitoring.services.watchdog import Watchdog
with Watchdog(0.3):
    sum(range(10**15))
"""
LIVELY = """
import time
from monitoring.services.watchdog import Watchdog
with Watchdog(1.0) as watchdog:
    ends = time.monotonic() + 1.5
    while time.monotonic() < ends:
        watchdog.alive()
time.sleep(1.2)
print("ended by itself")
"""


def _run(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)


def test_a_process_stuck_in_native_code_ends_and_says_where_it_stood() -> None:
    done = _run(STUCK)

    assert done.returncode == 1
    assert 'File "<string>", line 4 in <module>' in done.stderr


def test_signs_of_life_put_the_end_off_and_leaving_calls_it_off() -> None:
    done = _run(LIVELY)

    assert (done.returncode, done.stdout.strip()) == (0, "ended by itself")
