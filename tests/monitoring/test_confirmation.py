"""A change is looked at twice before it is raised."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from monitoring.detection.blocks import Reading
from monitoring.detection.judge import observe
from monitoring.detection.memory import Memory
from monitoring.detection.read import read
from monitoring.models import Change, Check, Monitor, MonitorMemory, Site, Snapshot
from monitoring.services import capture, memories, schedule
from tests.factories import NOW
from tests.monitoring.conftest import visit
from tests.monitoring.site import LocalSite
from tests.monitoring.test_pipeline import CLAUSES, page

pytestmark = pytest.mark.django_db

type Watch = Callable[..., Monitor]


QUOTES = [
    "My daughter found every book she needed for her project on the tides.",
    "The staff helped me to read a letter from 1842 that nobody else could.",
    "I came in out of the rain and stayed until they closed the reading room.",
    "Their map collection is worth the journey even when the sea is rough.",
    "We hold our chess club here each Tuesday and have never been asked to be quiet.",
    "A quiet corner, good light, and somebody who knows where everything is.",
    "They kept a volume aside for me for three weeks without a word.",
]


def quoting(number: int, clauses: list[str] | None = None) -> str:
    """The notice beside a reader's words that are others at every load."""
    return page(clauses=clauses, extra=f"<section><p>{QUOTES[number]}</p></section>")


def codes(check: Check) -> list[str]:
    """The codes of a check's reasons."""
    return [reason["code"] for reason in check.reasons]


def test_a_module_that_rotates_at_every_load_is_noise_at_its_first_sight(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/a", quoting(0))
    visit(monitor)
    site.put_row("/a", quoting(1), quoting(2))

    check = visit(monitor)

    assert check.outcome == "noise"
    assert not Change.objects.exists()
    assert site.visits["/a"] == 3


def test_a_change_beside_a_rotating_module_is_raised_and_both_captures_are_kept(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/a", quoting(0))
    visit(monitor)
    site.put_row("/a", quoting(1, CLAUSES[1:]), quoting(2, CLAUSES[1:]))

    check = visit(monitor)

    change = Change.objects.get()
    assert check.outcome == "content"
    assert "confirmed" in codes(check)
    assert "left-out-volatile-slot" in codes(check)
    assert change.new == check.snapshot == monitor.baseline
    assert Snapshot.objects.filter(role=Snapshot.Role.CONFIRMATION).count() == 1


def test_a_passing_variant_is_not_raised_and_its_copy_is_kept(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/a", page())
    visit(monitor)
    site.put_row("/a", page(clauses=CLAUSES[1:]), page())

    check = visit(monitor)

    assert check.outcome == "none"
    assert "not-confirmed" in codes(check)
    assert not Change.objects.exists()


def test_a_variant_that_comes_again_and_stays_is_raised(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/a", page())
    visit(monitor)
    site.put_row("/a", page(clauses=CLAUSES[1:]), page())
    visit(monitor)
    site.put("/a", page(clauses=CLAUSES[1:]))

    assert visit(monitor).outcome == "content"


def test_without_a_second_page_the_first_finding_stands(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/a", page())
    visit(monitor)
    site.put_row("/a", page(clauses=CLAUSES[1:]), None)

    check = visit(monitor)

    assert check.outcome == "content"
    assert "unconfirmed" in codes(check)
    assert Change.objects.count() == 1


def test_when_time_is_short_the_first_finding_is_recorded(
    watch: Watch, site: LocalSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capture, "REQUEST_S", 10_000.0)
    monitor = watch("/a", page())
    visit(monitor)
    site.put("/a", page(clauses=CLAUSES[1:]))

    check = visit(monitor)

    assert check.outcome == "content"
    assert "confirmed" not in codes(check)
    assert site.visits["/a"] == 2


def test_the_second_fetch_waits_for_the_sites_slot(watch: Watch, site: LocalSite) -> None:
    host = Site.objects.create(name="Slow", host="slow.example", gap_s=5)
    now = timezone.now()

    first = schedule.reserve(host, 2, now=now, after_s=4)
    second = schedule.reserve(host, 1, now=now, after_s=4)

    assert (first, second) == (4, 14)


def test_quiet_fetches_say_nothing_of_slots_that_they_do_not_name() -> None:
    def reading(clause: str, quote: str) -> Reading:
        return read(f"<main><p class=a>{clause}</p><p class=b>{quote}</p></main>")

    base, edited = reading("Kept for a year.", QUOTES[0]), reading("Kept for one year.", QUOTES[0])
    memory = Memory.start(NOW).fold(observe(base, edited), NOW, rebased=False)
    quiet = observe(reading("Kept for one year.", QUOTES[1]), reading("Kept for one year.", QUOTES[2]))

    after = memories._after_quiet(memory, quiet, NOW)

    clause, quote = (next(b for b in edited.blocks if b.text.startswith(start)) for start in ("Kept", "My"))
    assert after.slot(clause.slot) == memory.slot(clause.slot)
    assert after.slot(quote.slot).quiet_moves == 1
    assert after.text(QUOTES[2]) is not None
    assert after.visits == memory.visits


def test_memory_with_quiet_slots_can_be_built_again(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/a", quoting(0))
    visit(monitor)
    for n, clauses in enumerate([CLAUSES, CLAUSES[1:], CLAUSES]):
        site.put_row("/a", quoting(2 * n + 1, clauses), quoting(2 * n + 2, clauses))
        visit(monitor)

    stored = MonitorMemory.objects.get(monitor=monitor)

    assert Check.objects.exclude(quiet_slots=b"").exists()
    assert memories.rebuild(monitor.pk, until=stored.folded_check_no).to_bytes() == bytes(stored.data)


def test_while_it_waits_for_a_second_look_a_monitor_is_no_suspect(
    watch: Watch, site: LocalSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monitor = watch("/a", page())
    visit(monitor)
    site.put("/a", page(clauses=CLAUSES[1:]))
    Monitor.objects.update(stage=schedule.CAREFUL)
    stages: list[str] = []
    waves = capture._Batch._second_waves

    def look(batch: Any, *args: Any, **options: Any) -> Any:
        stages.append(Monitor.objects.get().stage)
        return waves(batch, *args, **options)

    monkeypatch.setattr(capture._Batch, "_second_waves", look)

    visit(monitor)

    assert stages == [schedule.CAREFUL]
    assert monitor.stage == ""


def test_a_kill_between_the_two_fetches_leaves_nothing_behind(
    watch: Watch, site: LocalSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monitor = watch("/a", page())
    visit(monitor)
    site.put("/a", page(clauses=CLAUSES[1:]))

    def killed(*_: Any, **__: Any) -> Any:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(capture, "confirm_capture", killed)
        with pytest.raises(SystemExit):
            visit(monitor)

    assert Check.objects.count() == 1
    assert visit(monitor).outcome == "content"


def test_the_queues_sentence_is_about_the_substance(watch: Watch, site: LocalSite) -> None:
    def shown(number: int, clauses: list[str]) -> str:
        quote = f"<section><p>{QUOTES[number]}</p></section>"
        return page(clauses=clauses).replace("<main>", f"{quote}<main>")

    monitor = watch("/a", shown(0, CLAUSES))
    visit(monitor)
    changed = [c.replace("twelve months", "ten years") for c in CLAUSES]
    site.put_row("/a", shown(1, changed), shown(2, changed))

    visit(monitor)

    change = Change.objects.get()
    assert change.places == 1
    assert change.diff["left_out"] == 1
    assert ["+", "ten years"] in change.say
