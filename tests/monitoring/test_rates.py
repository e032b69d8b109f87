"""What is known of how often a page changes: a fold over its checks, and the visits planned by it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from io import StringIO
from typing import Any

import pytest
import time_machine
from django.core.management import CommandError, call_command

from monitoring.models import Change, Check, Monitor, Prior, Site, Team
from monitoring.scheduling import Rate, observe
from monitoring.services import changes, monitors, priors, rates, schedule, validators
from tests.factories import NOW, make_change, make_monitor, make_page_type
from tests.monitoring.conftest import visit
from tests.monitoring.site import LocalSite
from tests.monitoring.test_pipeline import CLAUSES, page
from tests.monitoring.test_politeness import answer

pytestmark = pytest.mark.django_db

type Watch = Callable[..., Monitor]


def fresh(monitor: Monitor) -> Monitor:
    """The monitor as it is stored."""
    return Monitor.objects.select_related("team", "site", "page_type").get(pk=monitor.pk)


def visit_daily(monitor: Monitor, site: LocalSite, *bodies: str) -> Monitor:
    """Visits a day apart; an empty body is an error of the site's."""
    start: datetime = NOW
    for day, body in enumerate(bodies):
        if body:
            site.put("/a", body)
        else:
            site.put("/a", "trouble", status=500)
        with time_machine.travel(start + timedelta(days=day), tick=False):
            visit(monitor)
    return fresh(monitor)


def test_every_comparison_is_evidence_and_the_log_gives_the_stored_rate_again(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/a", page())
    after = visit_daily(monitor, site, page(), page(), page(clauses=CLAUSES[1:]), page(clauses=CLAUSES[1:]))

    known = rates.PRIOR
    for changed in (False, True, False):  # the first visit is only the baseline
        known = observe(known, 1.0, changed, rates.SETTINGS)
    assert after.rate == known
    assert rates.rebuild(monitor.pk) == after.rate
    last = Check.objects.filter(monitor=monitor).latest("check_no")
    assert (last.rate_a, last.rate_b, last.plan_price) == (*known, None)
    assert last.next_chance is not None
    assert 0 < last.next_chance < 1


def test_a_visit_that_brings_no_page_teaches_nothing_and_the_next_counts_from_the_last_good_one(
    watch: Watch, site: LocalSite
) -> None:
    monitor = watch("/a", page())
    after = visit_daily(monitor, site, page(), "", "", page())

    assert after.rate == observe(rates.PRIOR, 3.0, False, rates.SETTINGS)
    assert rates.rebuild(monitor.pk) == after.rate


def test_another_address_starts_anew_and_another_region_keeps_the_mean(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/a", page())
    known = visit_daily(monitor, site, *[page(clauses=CLAUSES[n % 2 :]) for n in range(6)]).rate
    monitors.change_settings(fresh(monitor), {"main_selector": "body"}, actor=None)
    with time_machine.travel(NOW + timedelta(days=6), tick=False):
        visit(monitor)
    loose = fresh(monitor).rate

    assert loose.a < known.a
    assert loose.a / loose.b == pytest.approx(known.a / known.b)
    site.put("/b", page())
    monitors.change_settings(fresh(monitor), {"url": site.url("/b")}, actor=None)
    with time_machine.travel(NOW + timedelta(days=7), tick=False):
        visit(monitor)
    assert fresh(monitor).rate == rates.PRIOR
    assert rates.rebuild(monitor.pk) == rates.PRIOR


def test_a_fold_begins_with_the_oldest_check_that_was_kept(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/a", page())
    after = visit_daily(monitor, site, *[page(clauses=CLAUSES[n % 2 :]) for n in range(5)])
    Check.objects.filter(monitor=monitor, check_no__lte=2).delete()

    assert rates.rebuild(monitor.pk) == after.rate


def test_the_command_mends_a_rate_and_only_names_it_when_asked_to_check(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/a", page())
    after = visit_daily(monitor, site, page(), page())
    Monitor.objects.filter(pk=monitor.pk).update(rate_a=9.0)

    with pytest.raises(CommandError, match=str(monitor.pk)):
        call_command("rebuild_rates", "--check")
    call_command("rebuild_rates", stdout=StringIO())

    assert fresh(monitor).rate == after.rate
    call_command("rebuild_rates", "--check", stdout=StringIO())
    with pytest.raises(CommandError, match="no monitor"):
        call_command("rebuild_rates", "123456")


# -- plans -------------------------------------------------------------------------------


def priced(budget: int | None = 100, price: float = 0.05) -> Team:
    """A team with a budget and a price."""
    return Team.objects.create(name="Priced", budget=budget, price=price)


def test_with_a_budget_visits_follow_rate_weight_and_price() -> None:
    team = priced()
    lively, quiet = (make_monitor(team=team, rate_a=a, rate_b=10.0) for a in (20.0, 0.2))
    dear = make_monitor(team=team, rate_a=20.0, rate_b=10.0, weight=25.0)

    first, second, third = (schedule.plan_next(m, now=NOW, check_no=1) for m in (lively, quiet, dear))

    assert (first.reason, first.price) == ("expected-change", 0.05)
    assert first.at < second.at
    assert third.planned_s is not None
    assert first.planned_s is not None
    assert third.planned_s < first.planned_s / 3.5


def test_an_interval_of_its_own_and_a_team_without_budget_keep_the_interval() -> None:
    pinned = make_monitor(team=priced(), interval_s=3600)
    plain = make_monitor(page_type=make_page_type("plain", default_interval_s=7200))

    for monitor, seconds in ((pinned, 3600), (plain, 7200)):
        found = schedule.plan_next(monitor, now=NOW, check_no=1)
        assert (found.reason, found.price) == ("fixed-interval", None)
        assert (found.at - NOW).total_seconds() == pytest.approx(seconds, rel=0.1001)


def test_a_promise_of_the_page_type_binds_whatever_the_price() -> None:
    daily = make_page_type("daily", max_interval_s=86_400)
    monitor = make_monitor(team=priced(price=1e6), page_type=daily)

    found = schedule.plan_next(monitor, now=NOW, check_no=1)

    assert found.reason == "max-age"
    assert timedelta(hours=20) < found.at - NOW < timedelta(hours=24)


def test_a_crowded_site_is_visited_less_and_one_that_says_not_modified_more() -> None:
    team = priced()
    plain, crowded, cheap = (make_monitor(team=team, gives_304=n == 2) for n in range(3))
    crowded.site.host_factor = 9.0

    at = [schedule.plan_next(m, now=NOW, check_no=1).at for m in (plain, crowded, cheap)]

    assert at[2] < at[0] < at[1]


def test_a_clock_set_back_is_no_evidence_and_summer_time_is_no_hour() -> None:
    berlin = datetime.fromisoformat("2027-03-28T01:30:00+01:00")
    after_switch = datetime.fromisoformat("2027-03-28T03:30:00+02:00")
    common: Any = {"outcome": "none", "reason": "same-bytes", "detail": ""}

    back = rates.after(Rate(2.0, 3.0), since=NOW, at=NOW - timedelta(hours=5), **common)
    hour = rates.after(Rate(2.0, 3.0), since=berlin, at=after_switch, **common)

    assert back == Rate(2.0, 3.0)
    assert hour == observe(Rate(2.0, 3.0), 1 / 24, False, rates.SETTINGS)


def test_a_retry_comes_before_the_promise_is_broken_unless_the_site_asked_for_rest() -> None:
    monitor = make_monitor(last_ok_at=NOW - timedelta(hours=23), max_interval_s=86_400, interval_s=86_400)

    soon = schedule.plan_retry(monitor, now=NOW, fails=8)
    asked = schedule.plan_retry(monitor, now=NOW, fails=8, retry_after_s=7200)

    assert NOW < soon.at < NOW + timedelta(hours=1)
    assert asked.at >= NOW + timedelta(hours=2)


def test_a_new_promise_moves_deadline_and_visit() -> None:
    monitor = make_monitor(last_ok_at=NOW, next_check_at=NOW + timedelta(days=5))

    monitors.change_settings(monitor, {"max_interval_s": 86_400}, actor=None, now=NOW)

    after = fresh(monitor)
    assert after.deadline_at == NOW + timedelta(days=1)
    assert after.next_check_at is not None
    assert after.next_check_at < after.deadline_at


def test_a_new_promise_of_a_page_type_moves_those_of_its_monitors() -> None:
    now = datetime.now(tz=NOW.tzinfo)
    monitor = make_monitor(last_ok_at=now, next_check_at=now + timedelta(days=5))

    monitors.change_page_type(monitor.page_type, {"max_interval_s": 3600}, actor=None)

    after = fresh(monitor)
    assert after.deadline_at == now + timedelta(hours=1)
    assert after.next_check_at is not None
    assert after.next_check_at <= after.deadline_at


# -- when there is more than workers can do ----------------------------------------------


def late(*, age: timedelta, promise: timedelta, due: timedelta, **extra: Any) -> Monitor:
    """A monitor whose last good visit is `age` old and whose next one was due `due` ago."""
    last = NOW - age
    return make_monitor(
        last_ok_at=last, next_check_at=NOW - due, deadline_at=last + promise,
        max_interval_s=int(promise.total_seconds()), **extra,
    )  # fmt: skip


def in_order(limit: int) -> list[int]:
    """Ids in the order in which a claim takes them."""
    claims = schedule.claim_due(now=NOW, limit=limit, lease_s=60)
    return [pk for claim in claims for pk in claim.ids]


def test_late_visits_go_by_promises_that_can_be_kept_and_then_by_worth() -> None:
    hour, day = timedelta(hours=1), timedelta(days=1)
    broken = late(age=2 * day, promise=day, due=30 * hour)
    quiet = late(age=2 * day, promise=20 * day, due=20 * hour, rate_a=0.2, rate_b=100.0)
    lively = late(age=2 * day, promise=20 * day, due=2 * hour, rate_a=8.0, rate_b=4.0)
    savable = late(age=23.5 * hour, promise=day, due=0.5 * hour)

    assert in_order(2) == [savable.pk, lively.pk]
    assert in_order(2) == [broken.pk, quiet.pk]


def test_what_is_hardly_late_goes_in_the_order_in_which_it_was_due() -> None:
    minute, day = timedelta(minutes=1), timedelta(days=1)
    quiet = late(age=2 * day, promise=20 * day, due=9 * minute, rate_a=0.2, rate_b=100.0)
    lively = late(age=2 * day, promise=20 * day, due=minute, rate_a=8.0, rate_b=4.0)

    assert in_order(2) == [quiet.pk, lively.pk]


def test_after_an_outage_promises_that_can_be_kept_are_found_far_back_in_the_queue() -> None:
    day = timedelta(days=1)
    for n in range(30):
        late(age=2 * day, promise=day, due=timedelta(hours=12, minutes=n))
    savable = late(age=timedelta(hours=23.9), promise=day, due=timedelta(minutes=1))

    assert in_order(1) == [savable.pk]


def test_a_page_that_was_paused_for_long_breaks_no_promise_when_it_is_resumed() -> None:
    monitor = make_monitor(enabled=False, last_ok_at=NOW - timedelta(days=60), deadline_at=NOW - timedelta(days=53))

    monitors.resume([monitor.pk], actor=None, now=NOW)

    assert fresh(monitor).deadline_at == NOW + timedelta(days=7)


# -- verdicts, ages, priors ----------------------------------------------------------------


def decided(change: Change, state: str) -> None:
    """A verdict on a change, and the folds that it asks for."""
    version = Change.objects.values_list("version", flat=True).get(pk=change.pk)
    if state in changes.UNDECIDED:
        assert changes.reopen_change(change.pk, version=version, state=state, snoozed_until=None, now=NOW)
    else:
        assert changes.close_change(change.pk, version=version, state=state, now=NOW)
    rates.refold(now=NOW)


def test_a_dismissal_turns_the_result_and_an_undo_turns_it_back(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/a", page())
    before = visit_daily(monitor, site, page(), page(), page(clauses=CLAUSES[1:]), page(clauses=CLAUSES[1:])).rate
    change = Change.objects.get(monitor=monitor)

    decided(change, "dismissed")
    dismissed = fresh(monitor).rate
    decided(change, "open")
    undone = fresh(monitor).rate
    decided(change, "approved")

    known = rates.PRIOR
    for _ in range(3):
        known = observe(known, 1.0, False, rates.SETTINGS)
    assert dismissed == known
    assert undone == before
    assert fresh(monitor).rate == before
    assert not rates.any_stale(now=NOW)
    call_command("rebuild_rates", "--check", stdout=StringIO())


def test_a_sample_of_noise_that_is_approved_was_a_change(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/a", page())
    visit_daily(monitor, site, page(), page(), page())
    change = make_change(monitor, kind="audit", check_row=Check.objects.get(monitor=monitor, check_no=2))

    decided(change, "approved")

    assert fresh(monitor).rate == observe(observe(rates.PRIOR, 1.0, True), 1.0, False)


def test_a_page_that_is_being_visited_is_folded_when_the_visit_is_over(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/a", page())
    before = visit_daily(monitor, site, page(), page(), page(clauses=CLAUSES[1:])).rate
    Monitor.objects.filter(pk=monitor.pk).update(lease_token="t", lease_until=NOW + timedelta(minutes=1))

    decided(Change.objects.get(monitor=monitor), "dismissed")
    assert fresh(monitor).rate == before
    assert rates.any_stale(now=NOW)
    Monitor.objects.filter(pk=monitor.pk).update(lease_token="", lease_until=None)
    rates.refold(now=NOW)

    assert fresh(monitor).rate != before
    assert not rates.any_stale(now=NOW)


def test_what_the_site_says_of_a_pages_age_is_the_first_evidence(watch: Watch, site: LocalSite) -> None:
    with time_machine.travel(NOW, tick=False):
        site.put("/a", page(), Last_Modified="Sat, 31 Oct 2026 09:00:00 GMT")
        monitor = watch("/a")
        visit(monitor)
    after = fresh(monitor)

    assert after.rate == observe(rates.PRIOR, 30.0, False)
    assert rates.rebuild(monitor.pk) == after.rate
    with time_machine.travel(NOW + timedelta(days=1), tick=False):
        visit(after)
    assert fresh(monitor).rate == observe(observe(rates.PRIOR, 30.0, False), 1.0, False)
    assert rates.rebuild(monitor.pk) == fresh(monitor).rate


@pytest.mark.parametrize(
    ("said", "days"),
    [
        ("Sat, 31 Oct 2026 09:00:00 GMT", 30.0),
        ("Mon, 01 Jan 2001 00:00:00 GMT", 90.0),  # no more than 90 days
        ("Thu, 01 Jan 1970 00:00:00 GMT", None),  # a server without a clock
        ("Mon, 30 Nov 2026 08:59:58 GMT", None),  # made for this visit
        ("Tue, 01 Dec 2026 09:00:00 GMT", None),  # the future
        ("yesterday", None),
        ("", None),
    ],
)
def test_only_a_plausible_age_is_believed(said: str, days: float | None) -> None:
    found = validators.age_in(answer(Last_Modified=said) if said else answer(), now=NOW)

    assert (found and found["data"]["days"]) == days


def test_asked_for_visits_count_with_the_time_that_really_went_by(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/a", page())
    visit_daily(monitor, site, page())
    for hours in (2, 5):
        monitors.check_now([monitor.pk], now=NOW + timedelta(hours=hours))
        with time_machine.travel(NOW + timedelta(hours=hours), tick=False):
            visit(fresh(monitor))

    assert fresh(monitor).rate == observe(observe(rates.PRIOR, 2 / 24, False), 3 / 24, False)
    assert list(Check.objects.filter(monitor=monitor, check_no__gt=1).values_list("why", flat=True)) == ["asked"] * 2


def watched(number: int, *, a: float, b: float, **extra: Any) -> None:
    """Pages of which so much is known."""
    site = Site.objects.get_or_create(host="many.example", defaults={"name": "Many"})[0]
    for n in range(number):
        values: dict[str, Any] = {"site": site, "url": f"https://many.example/{a}/{n}", "next_check_at": None}
        make_monitor(rate_a=a, rate_b=b, last_ok_at=NOW, check_no=9, **(values | extra))


def test_a_new_page_begins_with_the_prior_of_its_type_else_of_its_site_else_of_all() -> None:
    lively, quiet = make_page_type("news"), make_page_type("policy")
    watched(25, a=6.5, b=8.0, page_type=lively)  # six changes in three days
    watched(25, a=0.5, b=95.0, page_type=quiet)  # none in ninety
    watched(5, a=2.5, b=25.0, page_type=make_page_type("few"))
    priors.fit(now=NOW)
    kinds = {slug: make_monitor(page_type=make_page_type(slug)) for slug in ("news", "policy", "few", "new")}
    elsewhere = Site.objects.create(host="else.example", name="Else")
    for one in kinds.values():
        one.site = elsewhere
    for one in kinds.values():
        priors.give([one])

    assert kinds["news"].prior_b < 1 < 5 < kinds["policy"].prior_b
    assert kinds["few"].prior_b == kinds["new"].prior_b == Prior.objects.get(page_type=None, site=None).days
    kinds["few"].site = Site.objects.get(host="many.example")
    priors.give([kinds["few"]])
    assert kinds["few"].prior_b == Prior.objects.get(site__host="many.example").days
    assert kinds["few"].rate == Rate(0.5, kinds["few"].prior_b)


def test_too_few_pages_give_no_prior() -> None:
    watched(19, a=6.5, b=8.0)

    assert priors.fit(now=NOW) == 0
    assert not Prior.objects.exists()


def test_who_began_with_an_older_prior_keeps_it_and_the_fold_agrees(watch: Watch, site: LocalSite) -> None:
    first = watch("/a", page())
    visit_daily(first, site, page(), page())
    watched(25, a=6.5, b=8.0, page_type=first.page_type)
    priors.fit(now=NOW)
    with time_machine.travel(NOW + timedelta(days=2), tick=False):
        visit(fresh(first))
        second = monitors.add_monitor(
            url=first.url.replace("/a", "/b"), name="B", team=first.team, page_type=first.page_type,
            vantage=first.vantage, actor=None, now=NOW,
        )  # fmt: skip
    site.put("/b", page())
    for day in (3, 4):
        with time_machine.travel(NOW + timedelta(days=day), tick=False):
            visit(fresh(second))

    assert fresh(first).rate == observe(observe(rates.PRIOR, 1.0, False), 1.0, False)
    assert second.prior_b < 1
    assert rates.rebuild(first.pk) == fresh(first).rate
    assert rates.rebuild(second.pk) == fresh(second).rate
    monitors.change_settings(fresh(first), {"url": first.url.replace("/a", "/c")}, actor=None, now=NOW)
    assert fresh(first).rate == Rate(0.5, second.prior_b)
    call_command("rebuild_rates", str(first.pk), str(second.pk), "--check", stdout=StringIO())
