"""Learning from one dismissal: rules drawn from a place, tried, in force for a while, and what they hid is sampled."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from monitoring.models import Change, IgnoreRule, Monitor, SettingChange
from monitoring.services import lessons, trials
from tests.factories import make_page_type, make_user
from tests.monitoring.conftest import visit
from tests.monitoring.site import LocalSite
from tests.monitoring.test_pipeline import page
from tests.monitoring.test_trials import OFFER, OFFERS, SELLS, seen_with

pytestmark = pytest.mark.django_db

type Watch = Callable[..., Monitor]


def offer(number: int, *, clauses: list[str] | None = None) -> str:
    return page(clauses=clauses, extra=OFFER.format(OFFERS[number]))


@pytest.fixture
def dismissed(watch: Watch, site: LocalSite) -> Change:
    """The change of an offer beside a notice, dismissed."""
    seen_with(watch, site, offer(0), offer(1))
    return Change.objects.select_related("monitor__page_type", "prior__payload", "new__payload").get()


def rule_of(change: Change, kind: str) -> IgnoreRule:
    return next(rule for rule in lessons.proposals(change, 1) if rule.kind == kind)


def learned(change: Change, kind: str = "place", *, actor: User | None = None) -> IgnoreRule:
    rule, actor = rule_of(change, kind), actor or make_user("tess")
    trial = trials.try_rules(change.monitor, [rule], viewer=actor)
    return lessons.learn(rule, trial=trial, actor=actor, why="an offer", now=timezone.now())


def test_a_rotation_is_ignored_from_now_on_and_nothing_else(dismissed: Change, site: LocalSite) -> None:
    rule = learned(dismissed)
    site.put("/a", offer(2))
    hidden = visit(dismissed.monitor)
    site.put("/a", offer(2, clauses=SELLS))
    seen = visit(dismissed.monitor)

    assert (hidden.outcome, hidden.reason) == ("noise", "ignore-rule")
    assert seen.outcome == "content"
    assert (rule.from_change, rule.created_by and rule.created_by.username, rule.note) == (
        dismissed,
        "tess",
        "an offer",
    )


def test_a_learned_rule_asks_for_no_new_baseline(dismissed: Change) -> None:
    learned(dismissed)

    dismissed.monitor.refresh_from_db()
    assert dismissed.monitor.rebaseline == ""


def test_what_a_rule_hid_is_found_once_it_lapsed(dismissed: Change, site: LocalSite) -> None:
    rule = learned(dismissed)
    site.put("/a", offer(2))
    visit(dismissed.monitor)
    IgnoreRule.objects.filter(pk=rule.pk).update(expires_at=timezone.now() - timedelta(seconds=1))

    assert visit(dismissed.monitor).outcome == "content"


def test_a_pattern_takes_any_number_for_a_number(watch: Watch, site: LocalSite) -> None:
    books = "<div><p>The library lends {} books to readers in {} villages today, more than last year.</p></div>"
    seen_with(watch, site, page(extra=books.format("1,204", 31)), page(extra=books.format("2,377", 48)))
    change = Change.objects.get()
    rule = learned(change, "pattern")
    site.put("/a", page(extra=books.format("9,001", 7)))

    assert rule.value.count(r"\p{Nd}+") == 3
    assert visit(change.monitor).outcome == "noise"


def test_a_rule_that_would_have_hidden_an_approved_change_is_refused(dismissed: Change) -> None:
    Change.objects.filter(pk=dismissed.pk).update(state="approved")
    lead = make_user("lea", role="lead")

    with pytest.raises(trials.RuleRefusedError):
        learned(dismissed, actor=lead)

    assert not IgnoreRule.objects.exists()


def test_a_part_of_an_approved_change_forbids_the_rule_too(watch: Watch, site: LocalSite) -> None:
    seen_with(watch, site, offer(0), offer(1, clauses=SELLS), offer(2, clauses=SELLS))
    both, alone = Change.objects.order_by("pk")
    Change.objects.filter(pk=both.pk).update(state="approved")

    with pytest.raises(trials.RuleRefusedError):
        learned(alone)


def test_learning_twice_leaves_one_rule(dismissed: Change) -> None:
    first = learned(dismissed)

    assert learned(dismissed, actor=make_user("nora")) == first


def test_confirmed_it_stays_and_let_go_it_is_gone_with_both_on_record(dismissed: Change) -> None:
    lead = make_user("lea", role="lead")
    rule = learned(dismissed)

    assert lessons.confirm(rule, actor=lead)
    rule.refresh_from_db()
    assert rule.expires_at is None
    assert lessons.let_go([rule], actor=lead, why="no longer there") == 1
    assert lessons.let_go([rule], actor=lead, why="again") == 0
    rows = SettingChange.objects.filter(name="ignore").order_by("pk")
    assert [bool(row.new) for row in rows] == [True, True, False]
    assert [row.actor_name for row in rows] == ["tess", "lea", "lea"]


def test_a_rule_is_remembered_a_week_before_it_ends(dismissed: Change) -> None:
    rule = learned(dismissed)
    assert rule.expires_at is not None
    watched = Monitor.objects.all()

    assert not lessons.to_confirm(watched, now=rule.expires_at - timedelta(days=8)).exists()
    assert lessons.to_confirm(watched, now=rule.expires_at - timedelta(days=6)).get() == rule


@pytest.mark.parametrize("kind", ["pattern", "selector", "place"])
def test_what_rules_hid_is_in_the_audit_sample(kind: str, watch: Watch, site: LocalSite) -> None:
    monitor = watch("/a", offer(0), page_type=make_page_type("audited", audit_share=1.0))
    values = {"pattern": "^(This week|Members who).*$", "selector": ".offer", "place": ""}
    if kind == "place":
        visit(monitor)
        site.put("/a", offer(1))
        visit(monitor)
        change = Change.objects.get()
        values["place"] = rule_of(change, "place").value
        change.delete()
    IgnoreRule.objects.create(monitor=monitor, kind=kind, value=values[kind])
    visit(monitor)
    site.put("/a", offer(2) if kind == "place" else offer(1))

    check = visit(monitor)

    change = Change.objects.get()
    assert (check.outcome, check.reason) == ("noise", "ignore-rule")
    assert (change.kind, change.sample_share) == ("audit", 1.0)
    assert change.places == 1


def test_what_a_selector_cuts_out_is_not_sampled_where_it_stands_still(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/a", offer(0), page_type=make_page_type("audited", audit_share=1.0))
    IgnoreRule.objects.create(monitor=monitor, kind="selector", value=".offer")
    visit(monitor)
    site.put("/a", offer(0) + "<!-- new bytes -->")

    assert visit(monitor).outcome == "noise"
    assert not Change.objects.exists()


def test_a_place_that_only_moved_offers_no_rule(dismissed: Change) -> None:
    document = {**dismissed.diff, "blocks": [{**row, "op": "moved_to"} for row in dismissed.diff["blocks"]]}
    dismissed.diff = document

    assert lessons.proposals(dismissed, 1) == []
    assert lessons.proposals(dismissed, 99) == []
