"""Calibration: proposals from quiet fetches and from verdicts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from monitoring.calibrating.evidence import Sample
from monitoring.detection.blocks import Reading
from monitoring.detection.read import read
from monitoring.fetching.capture import Capture, Failure
from monitoring.models import CalibrationRun, Monitor, PageType, SettingChange
from monitoring.services import calibrate, memories, refetch
from tests.factories import NOW, make_check, make_monitor, make_page_type, make_snapshot, make_user

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


@pytest.mark.django_db
def test_few_verdicts_make_no_proposal() -> None:
    with pytest.raises(ValidationError, match="there are 1 and 0"):
        calibrate.propose_from_verdicts(make_page_type(), [Sample(0.9, 5, approved=True)], actor=None, now=NOW)


@pytest.mark.django_db
def test_verdicts_propose_and_a_person_applies(django_assert_max_num_queries: Any) -> None:
    page_type, lead = make_page_type(), make_user("lena", role="lead")
    samples = [Sample(0.9, 9, approved=True)] * 30 + [Sample(0.6, 4, approved=False, main=0.2)] * 30

    run = calibrate.propose_from_verdicts(page_type, samples, actor=lead, now=NOW)
    page_type.refresh_from_db()
    assert page_type.cut == 0.5
    calibrate.apply_run(run, actor=lead, reason="thirty each", now=NOW)

    page_type.refresh_from_db()
    assert 0.6 < page_type.cut < 0.8
    assert page_type.threshold == 3
    assert run.statistics["spared"] == 30
    assert run.statistics["between"]["upper"] == pytest.approx(0.095, abs=0.001)


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


def verdicts(low: float = 0.6) -> list[Sample]:
    return [Sample(0.9, 9, approved=True)] * 60 + [Sample(low, 2, approved=False)] * 60


@pytest.mark.django_db
def test_a_proposal_is_not_applied_over_values_that_somebody_changed_since() -> None:
    page_type, lead = make_page_type(), make_user("lena", role="lead")
    run = calibrate.propose_from_verdicts(page_type, verdicts(), actor=lead, now=NOW)
    PageType.objects.update(cut=0.7)

    with pytest.raises(ValidationError, match="changed since"):
        calibrate.apply_run(run, actor=lead, reason="sixty each", now=NOW)

    run.refresh_from_db()
    assert run.state == CalibrationRun.State.DONE
    PageType.objects.update(cut=0.5)
    calibrate.apply_run(run, actor=lead, reason="sixty each", now=NOW)
    PageType.objects.update(cut=0.4)
    with pytest.raises(ValidationError, match="changed since"):
        calibrate.revert_run(run, actor=lead, reason="too high", now=NOW)


@pytest.mark.django_db
def test_a_newer_proposal_takes_the_place_of_the_one_before() -> None:
    page_type = make_page_type()
    first = calibrate.propose_from_verdicts(page_type, verdicts(), actor=None, now=NOW)

    calibrate.propose_from_verdicts(page_type, verdicts(0.55), actor=None, now=NOW)

    first.refresh_from_db()
    assert first.state == CalibrationRun.State.UNCHANGED


@pytest.mark.django_db
@pytest.mark.parametrize(("bounds", "low", "applied"), [(0.2, 0.6, True), (0.0, 0.6, False), (0.02, 0.6, False)])
def test_small_steps_are_applied_by_themselves_where_the_page_type_says_so(
    bounds: float, low: float, applied: bool
) -> None:
    page_type = make_page_type(auto_cut=bounds)
    run = calibrate.propose_from_verdicts(page_type, verdicts(low), actor=None, now=NOW)

    assert calibrate.apply_by_itself(run, now=NOW) is applied

    page_type.refresh_from_db()
    assert (page_type.cut > 0.6) is applied
    assert SettingChange.objects.filter(page_type=page_type, actor=None, name="cut").exists() is applied


@pytest.mark.django_db
def test_nothing_is_applied_by_itself_twice_a_week_or_on_thin_evidence() -> None:
    page_type = make_page_type(auto_cut=0.3)
    thin = [Sample(0.9, 9, approved=True)] * 40 + [Sample(0.1, 2, approved=False)] * 25
    thin += [Sample(0.6, 2, approved=False)] * 10

    assert not calibrate.apply_by_itself(calibrate.propose_from_verdicts(page_type, thin, actor=None, now=NOW), now=NOW)
    first = calibrate.propose_from_verdicts(page_type, verdicts(), actor=None, now=NOW)
    assert calibrate.apply_by_itself(first, now=NOW)
    page_type.refresh_from_db()
    second = calibrate.propose_from_verdicts(page_type, verdicts(0.7), actor=None, now=NOW)
    assert second.state == CalibrationRun.State.DONE
    assert not calibrate.apply_by_itself(second, now=NOW + timedelta(days=6))
    assert calibrate.apply_by_itself(second, now=NOW + timedelta(days=8))


@pytest.mark.django_db
def test_a_monitor_is_calibrated_by_its_own_verdicts() -> None:
    monitor, lead = make_monitor(), make_user("lena", role="lead")
    run = calibrate.propose_from_verdicts(monitor, verdicts(), actor=lead, now=NOW)

    calibrate.apply_run(run, actor=lead, reason="a page of its own", now=NOW)

    monitor.refresh_from_db()
    assert monitor.cut is not None
    assert monitor.cut > 0.6
    calibrate.revert_run(run, actor=lead, reason="no", now=NOW)
    assert (Monitor.objects.get().cut, Monitor.objects.get().threshold) == (None, None)


@pytest.mark.django_db
def test_pages_that_move_by_themselves_are_said_and_short_ones_left_out() -> None:
    monitor = make_monitor()
    for distances, words in (([3, 12], 900), ([1], 900)):
        CalibrationRun.objects.create(
            monitor=monitor, basis="refetch", state="done", distances=distances, statistics={"words": words}
        )
    other = make_monitor()
    CalibrationRun.objects.create(monitor=other, basis="quiet", state="done", distances=[9], statistics={"words": 30})
    third = make_monitor()
    CalibrationRun.objects.create(monitor=third, basis="first-look", state="done", distances=[5], statistics={})

    assert sorted(calibrate.quiet_distances(monitor.page_type)) == [1, 5]
    run = calibrate.propose_from_verdicts(monitor.page_type, verdicts(), actor=None, now=NOW)
    assert [note["code"] for note in run.statistics["notes"]] == ["below-quiet"]


@pytest.mark.django_db
def test_a_short_page_gets_at_least_what_one_word_moves() -> None:
    def short(number: int) -> Capture:
        return replace(
            capture(number), html="<html><body><main><p>Open from nine to five on weekdays.</p></main></body></html>"
        )

    run = work(calibrate.start_run(make_monitor(), enqueue=False), (short(n) for n in range(5)))

    assert run.distances == [0] * 10
    assert run.proposed_threshold is not None
    assert run.proposed_threshold > 9
    assert run.statistics["words"] == 7


@pytest.mark.django_db
def test_each_page_is_fetched_quietly_once_in_a_cycle() -> None:
    monitor = make_monitor()
    monitor.baseline = make_snapshot(monitor)
    monitor.save()
    make_monitor()  # was never read

    turn = monitor.pk % calibrate.QUIET_CYCLE_H - int(NOW.timestamp() // 3600) % calibrate.QUIET_CYCLE_H
    hours = (turn - 1, turn, turn + 1, turn + calibrate.QUIET_CYCLE_H)
    planned = [calibrate.schedule_quiet(now=NOW + timedelta(hours=hour)) for hour in hours]

    assert planned == [0, 1, 0, 0]  # the last one still waits
    run = CalibrationRun.objects.get()
    assert (run.monitor, run.basis) == (monitor, CalibrationRun.Basis.QUIET)
    assert refetch.any_first_look(now=NOW)
