"""What counts for calibration, what a page type's page says, and what is missed."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from monitoring.models import CalibrationRun, Change, PageType
from review.models import Verdict
from review.selectors import learning, missing
from review.services import calibrating, verdicts
from review.services.verdicts import Seen
from tests.factories import NOW, make_change, make_monitor, make_page_type, make_team, make_user
from tests.review.conftest import SignIn

pytestmark = pytest.mark.django_db


def decide(
    change: Change, actor: User, action: str = "approve", *, seconds: float | None = 9.0, reason: str = ""
) -> Any:
    return verdicts.decide(
        change.pk,
        action=Verdict.Action(action),
        actor=actor,
        seen=Seen(change.version, change.diff_hash, f"k{change.pk}", seconds),
        now=NOW,
        reason=reason,
    )


def judged(score: float, main: float | None = None, **extra: Any) -> Change:
    data = {"score": score, "cut": 0.5} | ({} if main is None else {"main": main})
    reasons = [{"code": "score", "text": "", "data": data}]
    monitor = extra.pop("monitor", None) or make_monitor()
    return make_change(monitor, score=score, reasons=reasons, **extra)


def samples(page_type: PageType, user: User | None = None) -> list[Any]:
    return learning.samples_of(page_type, user=user, now=NOW + timedelta(minutes=1))


def test_a_verdict_counts_with_its_figures(analyst: User) -> None:
    decide(judged(0.8, 0.7), analyst)

    (sample,) = samples(make_page_type())

    assert (sample.score, sample.main, sample.distance, sample.approved) == (0.8, 0.7, 5, True)
    assert sample.short  # the diff of the factory is of nine words
    assert sample.weight == 1.0


@pytest.mark.parametrize(
    ("seconds", "reason"), [(1.4, ""), (9.0, "not-relevant"), (9.0, "block-page")], ids=["fast", "relevance", "blocked"]
)
def test_what_says_nothing_about_the_detector_does_not_count(analyst: User, seconds: float, reason: str) -> None:
    decide(judged(0.8), analyst, "dismiss", seconds=seconds, reason=reason)

    assert samples(make_page_type()) == []


def test_an_undone_verdict_does_not_count(analyst: User) -> None:
    given = decide(judged(0.8), analyst)

    verdicts.undo(given.verdict, actor=analyst, key="undo", now=NOW)

    assert samples(make_page_type()) == []


def test_an_audit_sample_weighs_as_many_as_its_rate_said_then(analyst: User) -> None:
    decide(judged(0.2, kind=Change.Kind.AUDIT, sample_share=0.02), analyst, "dismiss")

    (sample,) = samples(make_page_type())

    assert sample.audit
    assert sample.weight == 50.0


def test_the_newest_second_opinion_is_beside_the_verdict(analyst: User, other_analyst: User) -> None:
    change = judged(0.8)
    decide(change, analyst)
    for number, opinion in enumerate(("approve", "dismiss")):
        verdicts.second_opinion(
            change.pk, opinion=opinion, actor=other_analyst, seen=Seen(2, "", f"s{number}"), now=NOW
        )

    (sample,) = samples(make_page_type())

    assert sample.second is False


def test_a_proposal_rests_on_all_teams_and_a_person_sees_their_own(analyst: User) -> None:
    elsewhere = judged(0.3, monitor=make_monitor(team=make_team("Elsewhere")))
    decide(elsewhere, make_user("olga", team=make_team("Elsewhere")))
    decide(judged(0.8), analyst)

    assert len(samples(make_page_type())) == 2
    assert len(samples(make_page_type(), analyst)) == 1


def many(analyst: User, *, low: float = 0.55) -> PageType:
    for number in range(60):
        approved = number % 2 == 0
        decide(judged(0.9 if approved else low, 0.2), analyst, "approve" if approved else "dismiss")
    return make_page_type()


def test_a_lead_proposes_applies_and_takes_back(analyst: User, sign_in: SignIn, strict_templates: None) -> None:
    page_type = many(analyst)
    client = sign_in(make_user("lena", role="lead"))
    address = reverse("calibration", args=[page_type.slug])

    client.post(reverse("calibration_propose", args=[page_type.slug]))
    page = client.get(address).content.decode()
    run = CalibrationRun.objects.get(state="done")
    assert "30 verdicts lie between the old and the new values" in page
    assert "Not known: no audit sample has a verdict yet." in page
    client.post(reverse("calibration_apply", args=[page_type.slug]), {"run": run.pk, "do": "apply", "reason": "sixty"})
    page_type.refresh_from_db()
    assert page_type.cut > 0.55
    client.post(reverse("calibration_apply", args=[page_type.slug]), {"run": run.pk, "do": "revert", "reason": "no"})
    page_type.refresh_from_db()
    assert page_type.cut == 0.5


def test_an_analyst_proposes_nothing(analyst: User, sign_in: SignIn) -> None:
    page_type = many(analyst)

    assert sign_in(analyst).post(reverse("calibration_propose", args=[page_type.slug])).status_code == 403
    assert not CalibrationRun.objects.exists()


def test_missed_approvals_are_named(analyst: User, sign_in: SignIn, strict_templates: None) -> None:
    page_type = many(analyst)
    PageType.objects.update(cut=0.95)
    hidden = Change.objects.filter(state=Change.State.APPROVED).order_by("-pk").first()
    assert hidden is not None

    page = sign_in(analyst).get(reverse("calibration", args=[page_type.slug])).content.decode()

    assert f">#{hidden.pk}<" in page


def test_an_odd_approval_is_listed_for_a_second_opinion(analyst: User, sign_in: SignIn, strict_templates: None) -> None:
    page_type = many(analyst)
    PageType.objects.update(cut=0.2)
    odd = judged(0.25)
    decide(odd, analyst)
    client = sign_in(make_user("lena", role="lead"))

    client.post(reverse("calibration_propose", args=[page_type.slug]))
    run = CalibrationRun.objects.get()

    assert run.statistics["notes"][0] == {"code": "second-opinion", "data": {"changes": [odd.pk]}}
    assert run.proposed_cut is not None
    assert run.proposed_cut <= 0.25


def test_nothing_to_change_is_said(analyst: User, sign_in: SignIn) -> None:
    page_type = many(analyst, low=0.97)
    client = sign_in(make_user("lena", role="lead"))

    page = client.post(reverse("calibration_propose", args=[page_type.slug]), follow=True).content.decode()

    assert "Nothing to change." in page
    assert CalibrationRun.objects.get().state == CalibrationRun.State.UNCHANGED


def test_steps_are_applied_once_a_day_where_the_page_type_says_so(analyst: User) -> None:
    page_type = many(analyst)
    assert not calibrating.any_automatic(now=NOW)
    assert calibrating.tick(now=NOW + timedelta(hours=1)) == 0

    for _ in range(60):
        decide(judged(0.55, 0.2), analyst, "dismiss")
    PageType.objects.update(auto_cut=0.3)

    assert calibrating.any_automatic(now=NOW)
    assert calibrating.tick(now=NOW + timedelta(hours=1)) == 1
    page_type.refresh_from_db()
    assert page_type.cut > 0.55
    assert CalibrationRun.objects.get(state="applied").applied_by is None


def test_the_miss_rate_comes_from_the_audit_sample(analyst: User) -> None:
    for number in range(20):
        change = judged(0.2, kind=Change.Kind.AUDIT, sample_share=0.1)
        if number < 10:
            decide(change, analyst, "approve" if number == 0 else "dismiss")
    for _ in range(30):
        decide(judged(0.9), analyst)

    found = missing.missed_by(analyst, now=NOW + timedelta(days=1), page_type=make_page_type())

    assert found.decided == 10
    assert found.total == pytest.approx(20)  # one of the ten decided, ten wait, one in ten was taken
    assert found.rate == pytest.approx(0.4)
    assert found.rate_low < 0.1 < found.rate_high
    assert missing.missed_by(make_user("olga", team=make_team("Elsewhere")), now=NOW).rate is None


def test_what_is_missed_stands_on_today_by_page_type(analyst: User, sign_in: SignIn, time_machine: Any) -> None:
    time_machine.move_to(NOW + timedelta(hours=1))
    terms = make_page_type("terms", audit_share=0.5)
    make_monitor(page_type=terms)
    for action in ("approve", "dismiss"):
        decide(judged(0.2, kind=Change.Kind.AUDIT, sample_share=0.1), analyst, action)

    page = sign_in(analyst).get(reverse("today")).content.decode()

    assert "of changes were missed in 90 days (95% interval" in page
    assert f'<a href="/calibration/{terms.slug}/">Terms</a>' in page
    assert "not known yet" in page


def test_each_page_type_has_its_own_rate_in_as_many_statements(
    analyst: User, django_assert_max_num_queries: Any
) -> None:
    for slug in ("terms", "privacy-policy", "product-page"):
        make_monitor(page_type=make_page_type(slug, audit_share=0.1))

    with django_assert_max_num_queries(5):
        found = missing.missed_each(analyst, now=NOW)

    assert [kind.slug for kind, _missed in found.by_type] == ["privacy-policy", "product-page", "terms"]
