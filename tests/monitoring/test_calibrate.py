"""Calibration: proposals from quiet fetches and from verdicts."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from monitoring.detection.blocks import Reading
from monitoring.detection.read import read
from monitoring.fetching.capture import Capture, Failure
from monitoring.models import CalibrationRun, SettingChange
from monitoring.services import calibrate, memories, refetch
from monitoring.services.calibrate import Sample
from tests.factories import NOW, make_check, make_monitor, make_page_type, make_user

PROSE = "<main>" + "<p>We publish the rules of the harbour here and change them rarely.</p>" * 20 + "</main>"


def capture(number: int, extra: str = "") -> Capture:
    html = f"<html><body>{PROSE}{extra}</body></html>"
    return Capture(
        key=1, url="https://x.example/", final_url="https://x.example/", status=200, headers=(), body=html.encode(), html=html,
        charset="utf-8", charset_source="header", content_type="text/html", redirects=(), peer_address="",
        certificate_sha256="", started_at=NOW + timedelta(seconds=number), duration_ms=5,
    )  # fmt: skip


def work(run: CalibrationRun, fetched: Iterator[Capture | Failure]) -> CalibrationRun:
    def read_it(found: Capture) -> Reading:
        return read(found.html)

    calibrate.run(run.pk, fetch=lambda: next(fetched), read=read_it, pause=lambda: None, now=lambda: NOW)
    run.refresh_from_db()
    return run


@pytest.mark.django_db
def test_a_still_page_gets_the_lowest_threshold() -> None:
    run = work(calibrate.start_run(make_monitor(), enqueue=False), (capture(n) for n in range(5)))

    assert run.state == CalibrationRun.State.DONE
    assert run.fetched == 5
    assert run.distances == [0] * 10
    assert run.proposed_threshold == 1


@pytest.mark.django_db
def test_a_restless_page_gets_a_threshold_just_above_what_was_seen() -> None:
    words = ["ferry", "lighthouse", "herring", "choir", "library"]
    fetched = (capture(n, f"<main><p>{' '.join([word] * 40)} tonight</p></main>") for n, word in enumerate(words))

    run = work(calibrate.start_run(make_monitor(), enqueue=False), fetched)

    assert run.proposed_threshold == max(run.distances) + 1
    assert len(run.statistics["quiet"]) == 5


@pytest.mark.django_db
def test_a_failed_fetch_ends_the_run_with_its_reason() -> None:
    failure = Failure(
        key=1,
        url="https://x.example/",
        reason="timeout",
        message="no answer within 30 s",
        transient=True,
        started_at=NOW,
        duration_ms=1,
    )

    run = work(calibrate.start_run(make_monitor(), enqueue=False), iter([capture(0), failure]))

    assert run.state == CalibrationRun.State.FAILED
    assert run.problem == "no answer within 30 s"
    assert run.proposed_threshold is None


@pytest.mark.django_db
def test_a_second_run_waits_for_the_first() -> None:
    monitor = make_monitor()
    calibrate.start_run(monitor, enqueue=False)

    with pytest.raises(ValidationError, match="already under way"):
        calibrate.start_run(monitor, enqueue=False)


@pytest.mark.django_db
def test_applying_sets_the_monitors_own_threshold_and_says_who() -> None:
    monitor, lead = make_monitor(), make_user("lena", role="lead")
    run = work(calibrate.start_run(monitor, enqueue=False), (capture(n) for n in range(5)))

    calibrate.apply_run(run, actor=lead, reason="quiet page", now=NOW)

    monitor.refresh_from_db()
    assert monitor.threshold == 1
    row = SettingChange.objects.get(monitor=monitor, name="threshold")
    assert (row.actor, row.old, row.new) == (lead, "", "1")
    assert "quiet page" in row.reason


@pytest.mark.django_db
def test_a_proposal_is_applied_once_and_can_be_taken_back() -> None:
    monitor, lead = make_monitor(threshold=7), make_user("lena", role="lead")
    run = work(calibrate.start_run(monitor, enqueue=False), (capture(n) for n in range(5)))
    calibrate.apply_run(run, actor=lead, reason="quiet page", now=NOW)
    with pytest.raises(ValidationError, match="not waiting"):
        calibrate.apply_run(run, actor=lead, reason="again", now=NOW)

    calibrate.revert_run(run, actor=lead, reason="too eager", now=NOW)

    monitor.refresh_from_db()
    assert monitor.threshold == 7


@pytest.mark.django_db
def test_applying_needs_a_reason() -> None:
    run = work(calibrate.start_run(make_monitor(), enqueue=False), (capture(n) for n in range(5)))

    with pytest.raises(ValidationError, match="Say why"):
        calibrate.apply_run(run, actor=make_user(), reason=" ", now=NOW)


@pytest.mark.parametrize(
    ("current", "approved", "dismissed", "expected"),
    [
        (0.5, [0.8, 0.9], [0.55, 0.6], 0.601),  # spares both dismissals
        (0.5, [0.8, 0.9], [0.55, 0.79], 0.551),  # 0.79 lies above 95 % of the smallest approved score
        (0.5, [0.51, 0.9], [0.6], 0.484),  # an approval just above the cut pulls it down
        (0.5, [0.3, 0.9], [0.6], 0.285),  # an approved audit sample from below the cut
        (0.5, [0.9], [], 0.5),  # nothing to spare: nothing to change
    ],
)
def test_a_proposed_cut_never_passes_the_smallest_approval(
    current: float, approved: list[float], dismissed: list[float], expected: float
) -> None:
    assert calibrate.proposed_cut(current, approved, dismissed) == pytest.approx(expected)
    assert calibrate.proposed_cut(current, approved, dismissed) < min(approved)


@pytest.mark.parametrize(
    ("current", "approved", "dismissed", "expected"),
    [(3, [9], [5, 6], 6), (3, [4], [8], 3), (3, [2], [], 1), (3, [0], [9], 0)],
)
def test_a_proposed_threshold_never_passes_the_smallest_approval(
    current: int, approved: list[int], dismissed: list[int], expected: int
) -> None:
    assert calibrate.proposed_threshold(current, approved, dismissed) == expected


@pytest.mark.django_db
def test_few_verdicts_make_no_proposal() -> None:
    with pytest.raises(ValidationError, match="there are 1 and 0"):
        calibrate.propose_from_verdicts(make_page_type(), [Sample(0.9, 5, approved=True)], actor=None, now=NOW)


@pytest.mark.django_db
def test_verdicts_propose_and_a_person_applies(django_assert_max_num_queries: Any) -> None:
    page_type, lead = make_page_type(), make_user("lena", role="lead")
    samples = [Sample(0.9, 9, approved=True)] * 30 + [Sample(0.6, 4, approved=False)] * 30

    run = calibrate.propose_from_verdicts(page_type, samples, actor=lead, now=NOW)
    page_type.refresh_from_db()
    assert page_type.cut == 0.5
    calibrate.apply_run(run, actor=lead, reason="thirty each", now=NOW)

    page_type.refresh_from_db()
    assert page_type.cut == pytest.approx(0.601)
    assert page_type.threshold == 4
    assert run.statistics["spared"] == 30
    assert run.statistics["missed"] == 0


@pytest.mark.django_db
def test_what_moved_between_quiet_fetches_goes_into_the_memory() -> None:
    monitor = make_monitor()
    make_check(monitor, check_no=1, outcome="none", reason=memories.FIRST_CAPTURE, started_at=NOW)
    words = ["ferry", "lighthouse", "herring"]
    fetched = (capture(n + 1, f"<div class='box'><p>{word} news of the day</p></div>") for n, word in enumerate(words))

    work(calibrate.start_run(monitor, fetches=3, enqueue=False), fetched)

    memory = memories.rebuild(monitor.pk)
    assert memory.visits == 0  # a fetch seconds after another is no visit on which a text stood still
    assert [past.quiet_moves for past in memory.slots.values()] == [3]
    assert memory.text("herring news of the day") is not None
    assert memory.text("ferry news of the day") is not None
    assert memories.load(monitor).to_bytes() == memory.to_bytes()


@pytest.mark.django_db
def test_a_first_look_teaches_the_memory_and_proposes_nothing() -> None:
    monitor = make_monitor()
    make_check(monitor, check_no=1, outcome="none", reason=memories.FIRST_CAPTURE, started_at=NOW)
    calibrate.first_look(monitor)
    run = CalibrationRun.objects.get()
    words = iter(["lighthouse", "herring", "choir"])
    before = read(capture(0, "<div class='box'><p>ferry news of the day</p></div>").html)

    calibrate.run(
        run.pk,
        fetch=lambda: capture(1, f"<div class='box'><p>{next(words)} news of the day</p></div>"),
        read=lambda found: read(found.html),
        pause=lambda: None,
        now=lambda: NOW + timedelta(seconds=5),
        before=(before, NOW),
    )

    run.refresh_from_db()
    assert run.proposed_threshold is None
    assert run.fetched == 3
    memory = memories.rebuild(monitor.pk)
    assert all(memory.text(f"{word} news of the day") for word in ("ferry", "lighthouse", "herring", "choir"))


@pytest.mark.django_db
def test_a_run_whose_worker_died_does_not_stand_in_the_way_for_ever() -> None:
    monitor = make_monitor()
    run = calibrate.start_run(monitor, enqueue=False)
    calibrate.first_look(make_monitor())
    CalibrationRun.objects.filter(pk=run.pk).update(state=CalibrationRun.State.RUNNING)

    assert refetch.give_up(now=run.created_at + timedelta(minutes=59)) == 0
    assert refetch.give_up(now=run.created_at + timedelta(minutes=61)) == 1

    run.refresh_from_db()
    assert run.state == CalibrationRun.State.FAILED
    assert calibrate.start_run(monitor, enqueue=False).state == CalibrationRun.State.WAITING
