"""The short form of `python -m tests.scale.writers`, and that it sees what it looks for."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.scale.writers import Found, Told, run, table


@pytest.mark.slow
@pytest.mark.long
def test_eight_processes_write_to_one_file_and_nobody_finds_it_locked_nor_is_a_row_missing() -> None:
    found = run(8, 80)

    assert found.told.wrong == Counter()
    assert {name: n for name, n in found.missing.items() if n} == {}
    assert (found.locked, found.writes) == (0, 80)


def test_what_failed_and_what_is_missing_stands_in_the_table() -> None:
    told = Told()

    def fail() -> bool:
        raise RuntimeError("database is locked")

    told.timed("visit", fail)
    told.timed("visit", lambda: False)
    told.timed("mail", lambda: True)
    found = Found(told, {"visit": 2, "mail": 0}, 1.0, 8)

    assert not found.whole
    assert (found.locked, found.writes) == (1, 3)
    assert "MISSED 1 visit: RuntimeError: database is locked" in table(found)
    assert "MISSED 1 visit: refused" in table(found)
    assert "MISSED 2 missing: visit" in table(found)
    assert Found(Told(), {"visit": 0}, 1.0, 8).whole
