"""“Ignore this from now on” in the interface: previewed, both or neither, and taken back."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone

from monitoring.models import Change, IgnoreRule, Monitor
from monitoring.services import lessons
from tests.factories import make_user
from tests.monitoring.conftest import site, visit, watch
from tests.monitoring.site import LocalSite
from tests.monitoring.test_lessons import offer
from tests.review.conftest import SignIn

__all__ = ["site", "watch"]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("strict_templates")]

type Watch = Callable[..., Monitor]


@pytest.fixture
def change(watch: Watch, site: LocalSite) -> Change:
    """An offer changed on a watched page, and waits."""
    monitor = watch("/a", offer(0))
    visit(monitor)
    site.put("/a", offer(1))
    visit(monitor)
    return Change.objects.get()


def form(change: Change, **extra: str) -> dict[str, str]:
    shown = f"{timezone.now().timestamp() - 9:.3f}"
    values = {"as": "place", "version": str(change.version), "diff_hash": change.diff_hash, "key": "a" * 32}
    return {**values, "shown": shown, "why": "an offer", **extra}


def test_the_page_previews_and_saves_nothing(change: Change, analyst: User, sign_in: SignIn) -> None:
    page = sign_in(analyst).get(reverse("ignore", args=[change.pk, 1])).content.decode()

    assert "What it would have hidden" in page
    assert "Dismiss and ignore from now on" in page
    assert not IgnoreRule.objects.exists()
    change.refresh_from_db()
    assert change.state == "open"


def test_the_change_page_leads_there(change: Change, analyst: User, sign_in: SignIn) -> None:
    page = sign_in(analyst).get(change.get_absolute_url()).content.decode()

    assert 'href="ignore/1/"' in page


def test_one_form_dismisses_and_learns_and_a_second_click_does_neither_again(
    change: Change, analyst: User, sign_in: SignIn
) -> None:
    client, address = sign_in(analyst), reverse("learn", args=[change.pk, 1])

    first = client.post(address, form(change))
    client.post(address, form(change))

    assert first.status_code == 302
    change.refresh_from_db()
    assert (change.state, change.verdicts.get().reason) == ("dismissed", "rotating")
    assert IgnoreRule.objects.get().from_change == change
    page = client.get(change.get_absolute_url()).content.decode()
    assert "Ignored from now on, by place on the page:" in page
    assert "Take back" in page


def test_an_older_diff_is_a_conflict_and_teaches_nothing(change: Change, analyst: User, sign_in: SignIn) -> None:
    Change.objects.filter(pk=change.pk).update(version=change.version + 1)

    response = sign_in(analyst).post(reverse("learn", args=[change.pk, 1]), form(change))

    assert response.status_code == 409
    assert not IgnoreRule.objects.exists()


def test_an_approved_change_blocks_the_rule_and_is_named(change: Change, analyst: User, sign_in: SignIn) -> None:
    Change.objects.filter(pk=change.pk).update(state="approved")
    client = sign_in(analyst)

    page = client.get(reverse("ignore", args=[change.pk, 1])).content.decode()
    response = client.post(reverse("learn", args=[change.pk, 1]), form(change))

    assert "it would have hidden what was approved" in page
    assert response.status_code == 409
    assert not IgnoreRule.objects.exists()


def test_undoing_the_dismissal_takes_the_rule_back(change: Change, analyst: User, sign_in: SignIn) -> None:
    client = sign_in(analyst)
    client.post(reverse("learn", args=[change.pk, 1]), form(change))

    client.post(reverse("decide", args=[change.pk]), {"do": "undo", "in": ""})

    change.refresh_from_db()
    assert change.state == "open"
    assert not IgnoreRule.objects.exists()


def test_another_reason_for_the_dismissal_keeps_the_rule(change: Change, analyst: User, sign_in: SignIn) -> None:
    client = sign_in(analyst)
    client.post(reverse("learn", args=[change.pk, 1]), form(change))
    verdict = change.verdicts.get()

    client.post(reverse("give_reason", args=[verdict.pk]), {"key": "b" * 32, "reason": "date", "in": ""})

    assert IgnoreRule.objects.exists()


def test_a_lead_keeps_it_for_good_and_an_analyst_only_takes_it_back(
    change: Change, analyst: User, sign_in: SignIn
) -> None:
    client, lead = sign_in(analyst), make_user("lea", role="lead")
    client.post(reverse("learn", args=[change.pk, 1]), form(change))
    rule = IgnoreRule.objects.get()
    address = reverse("learned_rule", args=[rule.monitor_id, rule.pk])

    client.post(address, {"do": "confirm"})
    assert IgnoreRule.objects.filter(expires_at__isnull=False).exists()
    sign_in(lead).post(address, {"do": "confirm"})
    assert IgnoreRule.objects.get().expires_at is None
    client.post(address, {"do": "let-go"})
    assert not IgnoreRule.objects.exists()


def test_a_rule_about_to_lapse_stands_on_today_and_on_its_monitor(
    change: Change, analyst: User, sign_in: SignIn
) -> None:
    client = sign_in(analyst)
    client.post(reverse("learn", args=[change.pk, 1]), form(change))
    assert "Ignore rules that lapse" not in client.get(reverse("today")).content.decode()
    IgnoreRule.objects.update(expires_at=timezone.now() + lessons.REMIND / 2)

    assert "Ignore rules that lapse" in client.get(reverse("today")).content.decode()
    assert "Ignored since a dismissal" in client.get(change.monitor.get_absolute_url()).content.decode()


def test_an_auditor_is_not_offered_it(change: Change, sign_in: SignIn) -> None:
    auditor = make_user("otto", role="auditor")

    assert 'href="ignore/1/"' not in sign_in(auditor).get(change.get_absolute_url()).content.decode()
    assert "/learn/" not in sign_in(auditor).get(reverse("ignore", args=[change.pk, 1])).content.decode()
