"""The kill loops and fault runs of `make chaos` in their short form: a few of each, and that the account can fail."""

from __future__ import annotations

import os

import pytest

from tests.chaos import servers
from tests.chaos.__main__ import Row, faults_of, run

PATIENCE_S = 240.0  # a machine that is busy with other tests is slow; `make chaos` measures times

pytestmark = [pytest.mark.slow, pytest.mark.services]


def served() -> None:
    """Skip where this machine's PostgreSQL and Redis are not there."""
    if not (servers.listens(5432) and servers.listens(6379)):
        if os.environ.get("TIDELINE_REQUIRE_SERVICES") == "1":
            pytest.fail("PostgreSQL on 5432 and Redis on 6379 are required here")
        pytest.skip("PostgreSQL and Redis are not running")


def good(rows: list[Row]) -> list[str]:
    """What happened, once nothing is wrong with it."""
    assert {row["what"]: faults_of(row, timed=False) for row in rows} == {row["what"]: [] for row in rows}
    return [row["what"] for row in rows]


def test_workers_killed_and_stopped_at_chosen_points_on_sqlite() -> None:
    only = ["take over", "payload file", "change row", "ledger"]

    rows = run([("points", 1), ("stopped", 2), ("tickers", 1)], "orm", monitors=24, only=only, patience_s=PATIENCE_S)

    assert len(good(rows)) == len(only) + 2


@pytest.mark.long
def test_clusters_killed_and_their_broker_emptied_on_postgresql_and_redis() -> None:
    served()

    good(
        run(
            [("cluster", 1), ("random", 3), ("stopped", 3), ("messages", 20), ("flush", 1)],
            "redis",
            monitors=24,
            redis_db=10,
            patience_s=PATIENCE_S,
        )
    )


def test_the_database_goes_away_and_comes_back() -> None:
    if not servers.Postgres.is_there():
        pytest.skip("PostgreSQL's programs are not here")

    good(run([("database", 4)], "orm", monitors=24, patience_s=PATIENCE_S))


def test_many_pages_due_at_once_are_drained_without_loss() -> None:
    """The times are measured by `make chaos`; here only that each page is visited once and every answer comes."""
    (row,) = run([("backlog", 200)], "orm", monitors=8, hosts=20, patience_s=PATIENCE_S)

    assert (row["times"], row["lost"], row["double"]) == (200, 0, 0)
    assert "lost answers" not in row


@pytest.mark.parametrize("name", ["lost", "double", "held"])
def test_a_row_with_something_wrong_is_told(name: str) -> None:
    row = {"times": 1, "wanted": 1, "lost": 0, "double": 0, "held": 0, "resumed": 1.0, "drained": 1.0}

    assert faults_of(row) == []
    assert faults_of(row | {name: 2}) == [f"{name} 2"]
    assert faults_of(row | {"times": 0}) == ["happened 0 of 1 times"]
    assert faults_of(row | {"resumed": 34.0}) == ["resumed after 34.0 s"]
