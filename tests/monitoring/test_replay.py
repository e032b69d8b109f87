"""Stored captures judged again: what stays, what would be lost, and going on where it broke off."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from monitoring.detection.judge import judge
from monitoring.detection.judgement import Kind
from monitoring.models import Change, Monitor
from monitoring.services import replay
from tests.monitoring.conftest import visit
from tests.monitoring.site import LocalSite
from tests.monitoring.test_pipeline import CLAUSES, page

pytestmark = pytest.mark.django_db

type Watch = Callable[..., Monitor]
SELLS = [clause.replace("do not sell", "sell") for clause in CLAUSES]


@pytest.fixture(autouse=True)
def marks(tmp_path: Path, settings: Any) -> None:
    settings.DATA_DIR = tmp_path


@pytest.fixture
def three(watch: Watch, site: LocalSite) -> list[Change]:
    """A page that changed there, back and there again, and another one that changed once."""
    for path, pages in (("/a", [page(), page(clauses=SELLS), page(extra="<p>A clause of its own was added here today.</p>")]), ("/b", [page(), page(clauses=SELLS)])):  # fmt: skip
        monitor = watch(path, pages[0])
        visit(monitor)
        for html in pages[1:]:
            site.put(path, html)
            visit(monitor)
            Change.objects.filter(monitor=monitor, state="open").update(state="approved")
    return list(Change.objects.order_by("monitor_id", "pk"))


def run(**options: Any) -> str:
    out = io.StringIO()
    call_command("replay", stdout=out, **options)
    return out.getvalue()


def test_the_same_version_judges_the_same(three: list[Change]) -> None:
    said = run()

    assert "3 of 3" in said
    assert "3 as before, 0 with other figures, 0 not raised any more" in said


def test_it_goes_on_where_it_was_broken_off(three: list[Change]) -> None:
    run(most=1)
    assert replay.load().change == three[0].pk

    assert "Going on after 1 of 3." in (said := run())
    assert "3 as before" in said
    assert "3 as before" in run()  # nothing is left
    assert "Going on" not in run(again=True)


def test_portions_leave_nothing_out_whatever_the_pages_are_called(
    three: list[Change], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay, "CHUNK", 1)
    Monitor.objects.filter(pk=three[0].monitor_id).update(name="Z")
    Monitor.objects.filter(pk=three[2].monitor_id).update(name="A")

    assert "3 as before" in run()


def test_an_approved_change_that_would_be_lost_fails(three: list[Change], monkeypatch: pytest.MonkeyPatch) -> None:
    def blind(*args: Any, **more: Any) -> Any:
        return replace(judge(*args, **more), kind=Kind.NOISE)

    monkeypatch.setattr(replay, "judge", blind)

    with pytest.raises(CommandError, match="3 approved changes"):
        run()
    assert replay.load().lost == [change.pk for change in three]


def test_other_figures_and_raised_noise_are_counted(three: list[Change]) -> None:
    Change.objects.filter(pk=three[0].pk).update(score=0.6)
    Change.objects.filter(pk=three[1].pk).update(kind="audit")
    Change.objects.filter(pk=three[2].pk).update(folded=2)

    assert "0 as before, 1 with other figures, 0 not raised any more, 1 audit samples raised now, 1 folded" in run()
