"""Ignore rules tried on stored captures: what they would have hidden, what is refused, and who may insist."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from monitoring.models import Change, IgnoreRule, Monitor, PageType, Snapshot
from monitoring.services import memories, trials
from tests.factories import make_page_type, make_team, make_user
from tests.monitoring.conftest import visit
from tests.monitoring.site import LocalSite
from tests.monitoring.test_pipeline import CLAUSES, page

pytestmark = pytest.mark.django_db

type Watch = Callable[..., Monitor]

SELLS = [clause.replace("do not sell", "sell") for clause in CLAUSES]
OFFER = '<div class="offer"><p>{}</p></div>'
OFFERS = (
    "This week every reader of the science section gets a notebook bound in blue linen.",
    "Members who bring a friend in May are given a ticket for the evening of sea songs.",
    "The bindery opens its doors on Saturday and shows how a torn atlas is mended by hand.",
)


def rule(value: str, *, kind: str = "pattern") -> IgnoreRule:
    return IgnoreRule(kind=kind, value=value)


def seen_with(watch: Watch, site: LocalSite, *pages: str, path: str = "/a", **extra: object) -> Monitor:
    """A monitor that has seen these pages, each of its changes dismissed before the next."""
    monitor = watch(path, pages[0], **extra)
    visit(monitor)
    for html in pages[1:]:
        site.put(path, html)
        visit(monitor)
        Change.objects.filter(monitor=monitor, state="open").update(state="dismissed")
    return monitor


@pytest.fixture
def offers(watch: Watch, site: LocalSite) -> Monitor:
    """A notice beside an offer: one clause changed and was approved, the offer changed and was dismissed."""
    pages = [page(extra=OFFER.format(OFFERS[0])), page(clauses=SELLS, extra=OFFER.format(OFFERS[0]))]
    monitor = seen_with(watch, site, *pages, page(clauses=SELLS, extra=OFFER.format(OFFERS[1])))
    first = Change.objects.order_by("opened_at").first()
    assert first is not None
    Change.objects.filter(pk=first.pk).update(state="approved")
    assert Change.objects.count() == 2
    return monitor


@pytest.mark.parametrize(("kind", "value"), [("selector", ".offer"), ("pattern", r"(?s)^(This week|Members who).*$")])
def test_a_rule_for_the_offer_hides_its_change_and_nothing_approved(kind: str, value: str, offers: Monitor) -> None:
    trial = trials.try_rules(offers, [rule(value, kind=kind)], viewer=make_user())

    (row,) = trial.hidden
    assert (row.before, row.whole, row.approved) == ("content", True, False)
    assert "sea songs" in row.added
    assert not trial.refused
    assert (trial.pairs, trial.left, trial.stopped) == (2, 0, "")
    assert [(touch.blocks, touch.pages) for touch in trial.touches] == [(1, 1)]


def test_a_block_rule_that_knows_one_text_does_not_hide_the_text_it_gave_way_to(offers: Monitor) -> None:
    trial = trials.try_rules(offers, [rule("evening of sea songs", kind="block")], viewer=make_user())

    assert trial.hidden == ()
    assert [(touch.blocks, touch.pages) for touch in trial.touches] == [(1, 1)]


def test_nothing_is_written_by_a_trial(offers: Monitor) -> None:
    before = (
        IgnoreRule.objects.count(),
        Snapshot.objects.count(),
        Change.objects.count(),
        offers.setting_changes.count(),
    )

    trials.try_rules(offers, [rule(".offer", kind="selector")], viewer=make_user())

    after = (
        IgnoreRule.objects.count(),
        Snapshot.objects.count(),
        Change.objects.count(),
        offers.setting_changes.count(),
    )
    assert before == after


def test_a_rule_that_hides_an_approved_change_is_refused_and_names_it(offers: Monitor) -> None:
    person, wanted = make_user("ada", role="admin"), rule("We (do not )?sell personal data")
    wanted.monitor = offers

    trial = trials.try_rules(offers, [wanted], viewer=person)

    (approved,) = trial.approved
    assert approved.change.state == "approved"
    assert (approved.removed, approved.added) == ("do not", "")
    with pytest.raises(trials.RuleRefusedError) as refusal:
        trials.save_rule(wanted, trial=trial, actor=person)
    assert refusal.value.trial is trial
    assert not IgnoreRule.objects.exists()


@pytest.mark.parametrize("role", ["analyst", "auditor", ""])
def test_a_reason_does_not_help_who_may_not_override(role: str, offers: Monitor) -> None:
    person, wanted = make_user(role=role), rule("We (do not )?sell personal data")
    wanted.monitor = offers
    trial = trials.try_rules(offers, [wanted], viewer=person)

    with pytest.raises(trials.RuleRefusedError):
        trials.save_rule(wanted, trial=trial, actor=person, override="because")

    assert not IgnoreRule.objects.exists()


@pytest.mark.parametrize("role", ["lead", "admin"])
def test_a_lead_or_admin_overrides_with_a_reason_on_record(role: str, offers: Monitor) -> None:
    person, wanted = make_user(role=role), rule("We (do not )?sell personal data")
    wanted.monitor = offers
    trial = trials.try_rules(offers, [wanted], viewer=person)

    trials.save_rule(wanted, trial=trial, actor=person, override="Watched by another monitor.")

    offers.refresh_from_db()
    entry = offers.setting_changes.get(name="ignore")
    assert IgnoreRule.objects.get().created_by == person
    assert (entry.actor_name, entry.reason) == (person.username, "Watched by another monitor.")
    assert f"hides approved changes: {trial.approved[0].change.pk}" in entry.new
    assert offers.rebaseline == "rules changed"


def test_an_ignore_rule_without_a_trial_of_its_own_is_not_saved(offers: Monitor) -> None:
    person, wanted = make_user(role="admin"), rule(".offer", kind="selector")
    wanted.monitor = offers
    other = trials.try_rules(offers, [rule(".advert", kind="selector")], viewer=person)

    for trial in (None, other):
        with pytest.raises(ValueError, match="tried before it is saved"):
            trials.save_rule(wanted, trial=trial, actor=person)


def test_a_new_note_needs_no_trial(offers: Monitor) -> None:
    saved = IgnoreRule.objects.create(monitor=offers, kind="selector", value=".offer")
    saved.note = "changes weekly"

    trials.save_rule(saved, trial=None, actor=make_user(role="admin"))

    assert IgnoreRule.objects.get().note == "changes weekly"
    assert not offers.setting_changes.filter(name="ignore").exists()


def test_an_edited_rule_is_tried_in_the_place_of_the_old_one(offers: Monitor) -> None:
    saved = IgnoreRule.objects.create(monitor=offers, kind="selector", value=".offer")

    added = trials.try_rules(offers, [rule(".offer p", kind="selector")], viewer=make_user())
    edited = trials.try_rules(
        offers, [rule(".offer p", kind="selector")], viewer=make_user("bo"), instead_of=[saved.pk]
    )

    assert added.hidden == ()
    assert len(edited.hidden) == 1


def test_a_rule_that_matches_nothing_on_the_page_says_so(offers: Monitor) -> None:
    trial = trials.try_rules(offers, [rule(".sidebar", kind="selector")], viewer=make_user())

    assert trial.hidden == ()
    assert [touch.value for touch in trial.unmatched] == [".sidebar"]


def test_two_rules_of_one_save_are_tried_together(watch: Watch, site: LocalSite) -> None:
    both = [c.replace("thirty days", "ten days").replace("two weeks", "four weeks") for c in CLAUSES]
    monitor = seen_with(watch, site, page(), page(clauses=both))
    first, second = rule(r"within \w+ days"), rule(r"at least \w+ weeks")

    (part,) = trials.try_rules(monitor, [first], viewer=make_user()).hidden
    (whole,) = trials.try_rules(monitor, [first, second], viewer=make_user("bo")).hidden

    assert (part.whole, part.removed) == (False, "thirty")
    assert whole.whole


def test_a_monitor_without_captures_has_nothing_to_try_on(watch: Watch) -> None:
    trial = trials.try_rules(watch("/new"), [rule("x+y")], viewer=make_user())

    assert trial.is_empty
    assert not trial.unmatched


def test_pairs_are_bounded_and_the_newest_are_tried(watch: Watch, site: LocalSite) -> None:
    monitor = seen_with(watch, site, *(page(extra=OFFER.format(offer)) for offer in OFFERS))

    trial = trials.try_rules(
        monitor, [rule(".offer", kind="selector")], viewer=make_user(), bounds=trials.Bounds(pairs=1)
    )

    assert (trial.pairs, trial.left, trial.stopped) == (1, 1, "pairs")
    assert "torn atlas" in trial.hidden[0].added


def test_a_trial_that_takes_too_long_says_that_it_ended_early(watch: Watch, site: LocalSite) -> None:
    monitor = seen_with(watch, site, *(page(extra=OFFER.format(offer)) for offer in OFFERS))
    ticks = itertools.count(step=3)

    trial = trials.try_rules(
        monitor, [rule(".offer", kind="selector")], viewer=make_user(), clock=lambda: float(next(ticks))
    )

    assert (trial.pairs, trial.left, trial.stopped) == (1, 1, "time")
    assert trial.pages == 1


def test_newer_captures_folded_in_are_judged_against_the_prior_side(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/a", page(extra=OFFER.format(OFFERS[0])))
    visit(monitor)
    for offer in OFFERS[1:]:
        site.put("/a", page(extra=OFFER.format(offer)))
        visit(monitor)
    assert Change.objects.get().folded == 1

    (row,) = trials.try_rules(monitor, [rule(".offer", kind="selector")], viewer=make_user()).hidden

    assert "blue linen" in row.removed
    assert "torn atlas" in row.added


def test_damaged_captures_are_counted_and_not_judged(offers: Monitor) -> None:
    from monitoring import storage

    assert offers.baseline is not None
    storage.delete(offers.baseline.payload)

    trial = trials.try_rules(offers, [rule(".offer", kind="selector")], viewer=make_user())

    assert trial.unreadable == 2
    assert trial.pages == 0


def test_memories_of_several_moments_are_built_in_one_pass(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/a", page(extra=OFFER.format(OFFERS[0])))
    for number in range(9):
        if number == 5:
            Monitor.objects.filter(pk=monitor.pk).update(rebaseline="rules changed")
        site.put("/a", page(extra=OFFER.format(OFFERS[number % 3]) + f"<p>Read {number} minutes ago</p>"))
        visit(monitor)

    found = memories.rebuild_each(monitor.pk, range(10))

    assert {n: memory.to_bytes() for n, memory in found.items()} == {
        n: memories.rebuild(monitor.pk, until=n).to_bytes() for n in range(10)
    }
    assert memories.rebuild_each(monitor.pk, []) == {}


# -- page types --------------------------------------------------------------------------


@pytest.fixture
def shared(watch: Watch, site: LocalSite) -> PageType:
    """A page type with a monitor of either team, on both of which the offer changed."""
    kind = make_page_type("notices")
    for path, team in (("/a", "Compliance"), ("/b", "Legal")):
        pages = [page(extra=OFFER.format(offer)) for offer in OFFERS[:2]]
        seen_with(watch, site, *pages, path=path, page_type=kind, team=make_team(team))
    return kind


def test_a_rule_of_a_page_type_is_tried_on_its_monitors(shared: PageType) -> None:
    trial = trials.try_rules(shared, [rule(".offer", kind="selector")], viewer=make_user())

    assert (len(trial.hidden), trial.hidden_elsewhere) == (1, 1)
    assert trial.hidden[0].change.monitor.team.name == "Compliance"
    assert [(touch.blocks, touch.pages) for touch in trial.touches] == [(2, 2)]
    assert trial.pages == 2


def test_an_approved_change_of_another_team_refuses_and_is_not_named(shared: PageType) -> None:
    Change.objects.filter(monitor__team__name="Legal").update(state="approved")

    trial = trials.try_rules(shared, [rule(".offer", kind="selector")], viewer=make_user())

    assert trial.refused
    assert (trial.approved, trial.approved_elsewhere) == ((), 1)


def test_a_page_types_trial_looks_at_a_bounded_number_of_pages(shared: PageType) -> None:
    trial = trials.try_rules(
        shared, [rule(".offer", kind="selector")], viewer=make_user(), bounds=trials.Bounds(pages=1)
    )

    assert trial.pages == 1
