"""What sites ask for and what they can't bear, from the answer to the plan of visits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone

from monitoring.fetching.capture import Capture, Failure, Outcome
from monitoring.models import Check, Monitor, RobotsFile, SettingChange, Site
from monitoring.services import capture, monitors, politeness, robots, schedule
from tests.factories import NOW, make_monitor, make_user
from tests.monitoring.conftest import visit
from tests.monitoring.site import LocalSite, Page

pytestmark = pytest.mark.django_db

type Watch = Callable[..., Monitor]

TEXT = (
    "<main><h1>Terms</h1>" + "<p>A clause about the keeping of records by the library of Halden.</p>" * 20 + "</main>"
)
FORBIDS = b"User-agent: *\nDisallow: /private\n"


@pytest.fixture(autouse=True)
def nothing_parsed() -> None:
    """Rules are kept per site and time of reading, which repeat from test to test."""
    robots._rules.cache_clear()


def answer(status: int = 200, body: bytes = b"", **headers: str) -> Capture:
    return Capture(
        key=1, url="https://a.example/", final_url="https://a.example/", status=status,
        headers=tuple((name.replace("_", "-"), value) for name, value in headers.items()), body=body, html="",
        charset="", charset_source="", content_type="text/plain", redirects=(), peer_address="", certificate_sha256="",
        started_at=NOW, duration_ms=5,
    )  # fmt: skip


def no_answer(reason: str = "connect", cause: str = "") -> Failure:
    return Failure(
        key=1, url="", reason=reason, message="No.", transient=True, started_at=NOW, duration_ms=5, cause=cause
    )


# -- robots.txt --------------------------------------------------------------------------


def test_a_page_that_robots_txt_forbids_is_not_fetched_and_says_why(watch: Watch, site: LocalSite) -> None:
    site.pages["/robots.txt"] = Page(FORBIDS)
    monitor = watch("/private/a", TEXT)

    check = visit(monitor)

    assert (check.outcome, check.reason) == ("error", "robots-disallowed")
    assert "Disallow: /private" in check.detail
    assert site.visits == {"/robots.txt": 1}
    assert (monitor.fail_no, monitor.plan_reason) == (0, "fixed-interval")
    assert (monitor.site.failures, monitor.site.rest_until) == (0, None)


def test_robots_txt_is_read_once_a_day_and_not_before_every_visit(watch: Watch, site: LocalSite) -> None:
    site.pages["/robots.txt"] = Page(FORBIDS)
    monitor = watch("/open", TEXT)

    for _ in range(3):
        assert visit(monitor).outcome == "none"
    assert site.visits["/robots.txt"] == 1

    RobotsFile.objects.update(next_at=timezone.now())
    visit(monitor)
    assert site.visits["/robots.txt"] == 2


def test_a_crawl_delay_widens_the_gap_unless_robots_txt_is_ignored(watch: Watch, site: LocalSite) -> None:
    site.pages["/robots.txt"] = Page(FORBIDS + b"Crawl-delay: 0.3\n")
    visit(watch("/open", TEXT))

    host = Site.objects.get()

    assert (host.gap_s, host.crawl_delay_s, host.effective_gap_s) == (0, 0.3, 0.3)
    host.robots_policy = "ignore"
    assert host.effective_gap_s == 0


def test_under_warn_the_page_is_fetched_and_the_check_says_so(watch: Watch, site: LocalSite) -> None:
    site.pages["/robots.txt"] = Page(FORBIDS)
    monitor = watch("/private/a", TEXT)
    Site.objects.update(robots_policy="warn")

    check = visit(monitor)

    assert check.outcome == "none"
    assert [reason["code"] for reason in check.reasons] == ["robots-warned"]


def test_under_ignore_robots_txt_is_not_even_read(watch: Watch, site: LocalSite) -> None:
    site.pages["/robots.txt"] = Page(FORBIDS)
    monitor = watch("/private/a", TEXT)
    Site.objects.update(robots_policy="ignore", robots_reason="Our own site")

    assert visit(monitor).outcome == "none"
    assert site.visits == {"/private/a": 1}


def test_ignoring_needs_a_reason_which_stays_on_record() -> None:
    host, ada = make_monitor().site, make_user("ada", role="admin")

    with pytest.raises(ValidationError, match="Say why"):
        monitors.change_site(host, {"robots_policy": "ignore"}, actor=ada, now=NOW)
    host.refresh_from_db()
    monitors.change_site(host, {"robots_policy": "ignore", "robots_reason": "They agreed on 3 May"}, actor=ada, now=NOW)

    row = SettingChange.objects.get(name="robots_policy")
    assert (row.site, row.old, row.new, row.reason, row.actor_name) == (
        host, "obey", "ignore", "They agreed on 3 May", "ada",
    )  # fmt: skip
    with pytest.raises(IntegrityError), transaction.atomic():
        Site.objects.update(robots_reason="")


def decided(*answers: Outcome, at: timedelta = timedelta(), every: timedelta = timedelta(hours=1)) -> bool:
    """Whether a page is allowed `at` so long after the last of some answers, an hour apart."""
    host = make_monitor().site
    now = NOW
    for one in answers:
        robots.Book([host]).learn(host, one, now=now)
        now += every
    book = robots.Book([host])
    return book.decide(host, "https://a.example/private/x?y=1", now=now - every + at).allowed


@pytest.mark.parametrize(
    ("answers", "at", "expected"),
    [
        ([answer(200, FORBIDS)], timedelta(), False),
        ([answer(200, b"\xef\xbb\xbfUser-agent: Tideline\nDisallow:\n\0")], timedelta(), True),
        ([answer(404)], timedelta(), True),
        ([answer(403)], timedelta(), True),
        ([answer(200, FORBIDS), answer(404)], timedelta(), True),
        ([answer(503)], timedelta(hours=23), True),  # grace
        ([answer(503)], timedelta(hours=25), False),
        ([answer(429)], timedelta(hours=25), False),
        ([answer(503)], timedelta(days=31), True),  # it will not come back
        ([answer(200, FORBIDS), answer(503)], timedelta(hours=1), False),  # the earlier copy counts
        ([answer(200, b""), answer(503)], timedelta(days=20), True),
        ([answer(503), answer(200, b"")], timedelta(hours=30), True),
        ([no_answer()], timedelta(hours=30), True),  # the page's own visit tells
        ([answer(200, FORBIDS), no_answer()], timedelta(hours=1), False),
        ([no_answer("too-many-redirects")], timedelta(), True),
    ],
)
def test_what_an_answer_for_robots_txt_means(answers: list[Outcome], at: timedelta, expected: bool) -> None:
    assert decided(*answers, at=at) is expected


def test_robots_txt_behind_redirects_is_read_and_a_loop_forbids_nothing(watch: Watch, site: LocalSite) -> None:
    site.pages["/robots.txt"] = Page(b"", status=301, headers={"Location": "/r2"})
    site.pages["/r2"] = Page(FORBIDS, headers={"Content-Type": "text/plain"})
    assert visit(watch("/private/a", TEXT)).reason == "robots-disallowed"

    RobotsFile.objects.all().delete()
    site.pages["/r2"] = Page(b"", status=301, headers={"Location": "/robots.txt"})
    assert visit(Monitor.objects.get()).outcome == "none"


def test_the_samples_own_pages_ask_for_no_robots_txt(watch: Watch, site: LocalSite, settings: Any) -> None:
    settings.SAMPLE_ORIGIN = f"http://{site.address}"
    monitor = watch("/sample/a", TEXT, is_sample=True)

    assert visit(monitor).outcome == "none"
    assert site.visits == {"/sample/a": 1}


# -- Retry-After, 429 and 503 ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("600", 600),
        ("Mon, 30 Nov 2026 11:00:00 GMT", 7200),
        ("99999999999", 86_400),
        ("soon", 60),
        ("0", 60),
        ("-5", 60),
    ],
)
@pytest.mark.parametrize("status", [429, 503])
def test_a_refusal_rests_the_host_as_long_as_it_asks_within_bounds(status: int, value: str, seconds: int) -> None:
    host = make_monitor().site

    assert politeness.note(host, answer(status, Retry_After=value), now=NOW)

    assert Site.objects.get().rest_until == NOW + timedelta(seconds=seconds)


def test_refusals_in_a_row_double_the_rest_and_an_answer_ends_the_row() -> None:
    host = make_monitor().site
    rests = []
    for n in range(9):
        politeness.note(host, answer(429), now=NOW + timedelta(days=n))
        assert host.rest_until is not None
        rests.append((host.rest_until - NOW - timedelta(days=n)).total_seconds())
    assert rests == [60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]

    politeness.note(host, answer(200), now=NOW + timedelta(days=10))
    assert Site.objects.get().refusals == 0


def test_while_a_host_rests_none_of_its_monitors_is_claimed(watch: Watch, site: LocalSite) -> None:
    site.put("/a", TEXT, status=429, Retry_After="600")
    first, second = watch("/a"), watch("/b", TEXT)
    Monitor.objects.filter(pk=second.pk).update(next_check_at=timezone.now() + timedelta(seconds=30))
    visit(first)
    other = make_monitor(next_check_at=timezone.now())

    def claimed(after: timedelta) -> set[int]:
        found = schedule.claim_due(now=timezone.now() + after, limit=10, lease_s=60)
        ids = {pk for claim in found for pk in claim.ids}
        Monitor.objects.update(lease_until=None, lease_token="")
        return ids

    assert claimed(timedelta(seconds=60)) == {other.pk}
    assert second.pk in claimed(timedelta(seconds=700))


def test_what_a_refusing_host_was_not_asked_yet_is_given_back(watch: Watch, site: LocalSite) -> None:
    pages = [watch(f"/{n}", TEXT) for n in range(6)]
    Site.objects.update(gap_s=0.2)
    for n in range(6):
        site.put(f"/{n}", TEXT, status=429)
    schedule_now = timezone.now()
    (batch,) = schedule.claim_due(now=schedule_now, limit=10, lease_s=60)

    counts = capture.run_batch(batch.ids, batch.token)

    assert sum(counts.values()) <= 2
    assert Monitor.objects.filter(lease_until__isnull=True, lease_token="").count() == len(pages)


def test_a_batch_waits_for_its_turns_at_a_site(watch: Watch) -> None:
    pages = [watch(f"/{n}", TEXT) for n in range(2)]
    (batch,) = schedule.claim_due(now=timezone.now(), limit=10, lease_s=60)
    begins = timezone.now() + timedelta(seconds=0.3)

    capture.run_batch(batch.ids, batch.token, starts={pages[0].site_id: begins.timestamp()})

    asked = sorted(Check.objects.values_list("started_at", flat=True))
    assert len(asked) == len(pages)
    assert asked[0] >= begins - timedelta(milliseconds=5)


def test_no_batch_waits_for_a_turn_that_another_clock_put_far_away(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = watch("/a", TEXT)
    (batch,) = schedule.claim_due(now=timezone.now(), limit=10, lease_s=60)
    monkeypatch.setattr(capture, "MOST_AHEAD_S", 0.1)

    counts = capture.run_batch(
        batch.ids, batch.token, starts={page.site_id: (timezone.now() + timedelta(hours=1)).timestamp()}
    )

    assert counts == {"none": 1}


def test_a_rest_that_a_wrong_clock_wrote_holds_nobody() -> None:
    monitor = make_monitor()
    Site.objects.update(rest_until=NOW + timedelta(days=3650))

    assert [claim.ids for claim in schedule.claim_due(now=NOW, limit=5, lease_s=60)] == [(monitor.pk,)]


def test_a_change_is_not_fetched_once_more_from_a_host_that_rests(watch: Watch, site: LocalSite) -> None:
    changed, refusing = watch("/a", TEXT), watch("/b", TEXT)
    visit(changed, refusing)
    site.put("/a", TEXT.replace("library of Halden", "archive of Oslo, from the first of May"))
    site.put("/b", TEXT, status=429, Retry_After="600")

    visit(changed, refusing)

    assert site.visits["/a"] == 2
    assert Check.objects.filter(monitor=changed).latest("pk").outcome == "content"


# -- hosts that answer nobody ------------------------------------------------------------------


def test_two_failures_to_meet_a_server_rest_the_host_and_then_one_page_tries() -> None:
    first = make_monitor()
    for _ in range(3):
        make_monitor(site=first.site)
    host = first.site
    Site.objects.update(gap_s=0)

    assert not politeness.note(host, no_answer(), now=NOW)
    assert politeness.note(host, no_answer("timeout", "timeout-head"), now=NOW)

    assert host.rest_until == NOW + timedelta(seconds=60)
    assert schedule.claim_due(now=NOW + timedelta(seconds=59), limit=9, lease_s=60) == []
    (probe,) = schedule.claim_due(now=NOW + timedelta(seconds=61), limit=9, lease_s=60)
    assert len(probe.ids) == 1


@pytest.mark.parametrize(
    "outcome",
    [no_answer("timeout", "timeout-body"), no_answer("tls"), no_answer("protocol"), no_answer("robots-disallowed")],
)
def test_a_page_that_is_bad_by_itself_does_not_rest_its_host(outcome: Failure) -> None:
    host = make_monitor().site

    for _ in range(5):
        assert not politeness.note(host, outcome, now=NOW)
    for _ in range(5):
        assert not politeness.note(host, no_answer(), now=NOW, through_proxy=True)

    assert (host.failures, host.rest_until) == (0, None)


def test_a_host_that_never_answers_holds_up_nobody_else(watch: Watch, site: LocalSite, settings: Any) -> None:
    """Its pages are dropped after the first ones, and what comes due meanwhile is taken on by the waiting batch."""
    silent = Site.objects.create(name="Silent", host="silent.example", gap_s=0)
    stuck = [
        make_monitor(url=f"http://silent.example/{n}", site=silent, next_check_at=timezone.now()) for n in range(6)
    ]
    honest = [watch(f"/{n}", TEXT) for n in range(10)]
    late = watch("/late", TEXT)
    Monitor.objects.filter(pk=late.pk).update(next_check_at=timezone.now() + timedelta(seconds=1))
    seen: list[datetime] = []

    class Slow:
        """A name that is never resolved, and the rest as always."""

        def __init__(self, width: int) -> None: ...

        async def __call__(self, host: str) -> list[str]:
            import asyncio

            await asyncio.sleep(2.6)
            seen.append(datetime.now(UTC))
            raise OSError(host)

        def close(self) -> None: ...

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("monitoring.fetching.http.SystemLookup", Slow)
        (batch,) = schedule.claim_due(now=timezone.now(), limit=50, lease_s=60)
        assert late.pk not in batch.ids
        capture.run_batch(batch.ids, batch.token)

    assert Check.objects.filter(monitor__in=honest, outcome="none").count() == 10
    taken_on = Check.objects.get(monitor=late)
    assert taken_on.started_at < seen[0]
    assert Check.objects.filter(monitor__in=stuck).exists()
    silent.refresh_from_db()
    assert silent.rests(timezone.now())


# -- workers that die --------------------------------------------------------------------------


def test_a_page_that_kills_its_worker_while_it_is_fetched_is_found_and_set_aside() -> None:
    """Batch, then a few at a time, then one by one: only the culprit is quarantined, and shows the stage."""
    culprit = make_monitor()
    for _ in range(20):
        make_monitor()
    now = NOW
    for _round in range(12):
        if Monitor.objects.get(pk=culprit.pk).quarantined_at:
            break
        now += timedelta(hours=1)
        Monitor.objects.update(next_check_at=now)
        Site.objects.update(next_free_at=None)
        for claim in schedule.claim_due(now=now, limit=100, lease_s=60):
            _worker_that_dies_at(culprit.pk, claim, now)
        now += timedelta(minutes=5)
        schedule.reconcile(now=now)

    culprit.refresh_from_db()
    assert (culprit.stage, culprit.stage_failures) == ("fetch", 3)
    assert culprit.quarantined_at is not None
    assert not Monitor.objects.exclude(pk=culprit.pk).exclude(stage_failures=0).exists()


def _worker_that_dies_at(pk: int, claim: schedule.Claim, now: datetime) -> None:
    """Go through a claim as `_Batch` does; at this monitor the process is gone and its marks stay."""
    claim = replace(claim, token=schedule.take_over(claim.ids, claim.token, now=now))
    rows = {m.pk: m for m in Monitor.objects.filter(pk__in=claim.ids)}
    plain = [m for m in rows.values() if m.stage not in (schedule.CAREFUL, schedule.ALONE)]
    if any(m.pk == pk for m in plain):
        return
    done = {m.pk for m in plain}
    careful = [m for m in rows.values() if m.stage == schedule.CAREFUL]
    for start in range(0, len(careful), capture.GROUP_SIZE):
        group = careful[start : start + capture.GROUP_SIZE]
        schedule.enter_group([m.pk for m in group], claim.token, now=now)
        if any(m.pk == pk for m in group):
            _finish(done, claim)
            return
        done |= {m.pk for m in group}
    for monitor in rows.values():
        if monitor.stage == schedule.ALONE:
            schedule.enter_stage(monitor.pk, claim.token, "fetch", now=now)
            if monitor.pk == pk:
                break
            done.add(monitor.pk)
    _finish(done, claim)


def _finish(done: set[int], claim: schedule.Claim) -> None:
    Monitor.objects.filter(pk__in=done, lease_token=claim.token).update(
        stage="", stage_failures=0, lease_until=None, lease_token=""
    )


def test_careful_monitors_are_visited_and_come_out_without_a_mark(watch: Watch, site: LocalSite) -> None:
    pages = [watch(f"/{n}", TEXT) for n in range(11)]
    Monitor.objects.filter(pk__in=[p.pk for p in pages[:9]]).update(stage=schedule.CAREFUL)
    Monitor.objects.filter(pk=pages[9].pk).update(stage=schedule.ALONE, stage_failures=2)

    visit(*pages)

    assert Check.objects.filter(outcome="none").count() == 11
    assert not Monitor.objects.exclude(stage="", stage_failures=0).exists()


@pytest.mark.parametrize(
    ("stage", "said"), [("fetch", "while it was fetched"), ("render", "browser"), ("judge", "read and compared")]
)
def test_a_monitor_that_was_set_aside_says_at_which_stage(stage: str, said: str) -> None:
    assert said in make_monitor(stage=stage, quarantined_at=NOW).quarantine_words
    assert make_monitor(stage=stage).quarantine_words == ""
