"""Commands of the machine side."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from monitoring.models import Monitor, MonitorMemory
from tests.monitoring.conftest import visit
from tests.monitoring.site import LocalSite
from tests.monitoring.test_pipeline import CLAUSES, page

type Watch = Callable[..., Monitor]


@pytest.fixture
def pair(tmp_path: Path) -> tuple[str, str]:
    """Two files: the second one has lost a "not"."""
    old, new = tmp_path / "old.html", tmp_path / "new.html"
    old.write_text(page(), encoding="utf-8")
    new.write_text(page(clauses=[c.replace("do not sell", "sell") for c in CLAUSES]), encoding="utf-8")
    return str(old), str(new)


def test_judge_prints_kind_score_distance_and_reasons(
    pair: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("judge", *pair, "--diff")

    lines = capsys.readouterr().out.splitlines()
    assert "quality   good" in lines
    assert "kind      content" in lines
    assert any(line.startswith("score     ") and "(cut 0.50)" in line for line in lines)
    assert any(line.startswith("distance  ") and "(threshold 3)" in line for line in lines)
    assert any("1 block changed" in line for line in lines)
    assert any("not" in line and line.strip().startswith("reworded") for line in lines)


def test_judge_knows_a_text_from_the_history(pair: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    old, new = pair
    call_command("judge", old, new, "--history", new, old, new)

    assert "return" in capsys.readouterr().out


def test_judge_reads_addresses(site: LocalSite, capsys: pytest.CaptureFixture[str]) -> None:
    url = site.put("/a", page())

    call_command("judge", url, url)

    assert "kind      none" in capsys.readouterr().out


def test_judge_names_what_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="No such file"):
        call_command("judge", str(tmp_path / "a"), str(tmp_path / "b"))
    with pytest.raises(CommandError, match="refused-by-policy"):
        call_command("judge", "http://127.0.0.1/", "http://127.0.0.1/")


@pytest.mark.django_db
def test_rebuild_memory_finds_and_mends_a_difference(
    watch: Watch, site: LocalSite, capsys: pytest.CaptureFixture[str]
) -> None:
    monitor = watch("/a", page(extra="<p>Updated 3 minutes ago</p>"))
    visit(monitor)
    site.put("/a", page(extra="<p>Updated 4 minutes ago</p>"))
    visit(monitor)
    whole = bytes(MonitorMemory.objects.get().data)
    call_command("rebuild_memory", "--check")
    MonitorMemory.objects.update(data=b"damaged")

    with pytest.raises(CommandError, match=f"differs: {monitor.pk}"):
        call_command("rebuild_memory", "--check")
    call_command("rebuild_memory", monitor.pk)

    assert bytes(MonitorMemory.objects.get().data) == whole
    assert "1 memories, 1 differed" in capsys.readouterr().out


@pytest.mark.django_db
def test_rebuild_memory_refuses_an_unknown_monitor() -> None:
    with pytest.raises(CommandError, match="999"):
        call_command("rebuild_memory", 999)
