"""Moulds in the pipeline: learned from a visit of equal text, believed for a while, gone with the baseline."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

import pytest

from monitoring.detection.read import skim
from monitoring.models import FieldRule, Monitor
from monitoring.services.moulds import RESTLESS
from tests.monitoring.conftest import visit
from tests.monitoring.site import LocalSite
from tests.monitoring.test_pipeline import CLAUSES, page

pytestmark = pytest.mark.django_db

type Watch = Callable[..., Monitor]


def dressed(**extra: Any) -> str:
    """The page with a nonce and a form token of its own."""
    head = f'<script nonce="{secrets.token_hex(16)}">x="{secrets.token_hex(8)}"</script>'
    return page(head=head, extra=f'<input type=hidden name=csrf value="{secrets.token_hex(16)}">', **extra)


@pytest.fixture
def skims(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Pages that were read for their text, in order."""
    seen: list[str] = []

    def counting(html: str, **options: Any) -> Any:
        seen.append(html)
        return skim(html, **options)

    monkeypatch.setattr("monitoring.services.judge.skim", counting)
    return seen


def visits(monitor: Monitor, site: LocalSite, count: int) -> None:
    for _ in range(count):
        site.put("/a", dressed())
        visit(monitor)


def test_after_one_reading_new_tokens_are_told_without_another(watch: Watch, site: LocalSite, skims: list[str]) -> None:
    monitor = watch("/a", dressed())
    visits(monitor, site, 2)
    skims.clear()

    site.put("/a", dressed())
    check = visit(monitor)

    assert (check.outcome, check.reason) == ("noise", "markup-only")
    assert check.as_then("text_hash") == monitor.baseline_text_hash
    assert skims == []


def test_an_edit_beside_new_tokens_is_found(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/a", dressed())
    visits(monitor, site, 3)
    assert len(monitor.mould) > len(RESTLESS)

    site.put("/a", dressed(clauses=[clause.replace("do not sell", "sell") for clause in CLAUSES]))
    check = visit(monitor)

    assert check.outcome == "content"
    monitor.refresh_from_db()
    assert bytes(monitor.mould) == b""  # the new baseline has none yet


def test_every_twentieth_visit_reads_all_the_same(watch: Watch, site: LocalSite, skims: list[str]) -> None:
    monitor = watch("/a", dressed())
    visits(monitor, site, 2)
    Monitor.objects.filter(pk=monitor.pk).update(check_no=18)
    monitor.refresh_from_db()
    skims.clear()

    visits(monitor, site, 3)

    assert len(skims) == 1


def test_a_page_that_changes_in_more_than_tokens_is_read_each_time(
    watch: Watch, site: LocalSite, skims: list[str]
) -> None:
    monitor = watch("/a", page(extra="<!-- rendered in 3 ms -->"))
    visit(monitor)
    for number in (14, 15, 9):
        site.put("/a", page(extra=f"<!-- rendered in {number} ms -->"))
        visit(monitor)

    assert bytes(monitor.mould) == RESTLESS
    assert len(skims) >= 3


def test_a_baseline_without_the_tokens_is_no_hindrance(watch: Watch, site: LocalSite, skims: list[str]) -> None:
    monitor = watch("/a", page())
    visit(monitor)
    visits(monitor, site, 2)
    skims.clear()

    visits(monitor, site, 2)

    assert skims == []
    assert monitor.snapshots.filter(role="noise").count() == 1  # what was learned from


def test_a_capture_to_learn_from_that_is_gone_is_no_fault(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/a", page())
    visit(monitor)
    visits(monitor, site, 1)
    monitor.snapshots.filter(role="noise").delete()

    visits(monitor, site, 1)

    assert bytes(monitor.mould) == RESTLESS


def test_fields_are_always_read(watch: Watch, site: LocalSite, skims: list[str]) -> None:
    monitor = watch("/a", dressed())
    FieldRule.objects.create(monitor=monitor, name="price", source="css", selector="#price", type="price")
    visits(monitor, site, 3)
    skims.clear()

    visits(monitor, site, 1)

    assert bytes(monitor.mould) == b""
    assert len(skims) == 1
