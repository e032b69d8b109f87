"""Of fifty verdicts on one change at the same moment exactly one stands, on SQLite and on PostgreSQL."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import connection

from tests.review import race

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.long
def test_one_of_fifty_wins_on_sqlite(tmp_path: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if k != "TIDELINE_DATABASE"}
    environment["TIDELINE_DATA"] = str(tmp_path)

    done = subprocess.run(
        [sys.executable, "-m", "tests.review.race"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
    )

    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout) == {
        "found": {"Recorded": 3, "Taken": 3 * (race.PEOPLE - 1)}, "wrong": [], "verdicts": 3,
    }  # fmt: skip


@pytest.mark.services
@pytest.mark.django_db(transaction=True)
def test_one_of_fifty_wins_on_postgresql() -> None:
    if connection.vendor != "postgresql":
        pytest.skip("runs where the tests run on PostgreSQL")

    assert race.run(rounds=2) == {
        "found": {"Recorded": 2, "Taken": 2 * (race.PEOPLE - 1)}, "wrong": [], "verdicts": 2,
    }  # fmt: skip
