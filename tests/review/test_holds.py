"""Changes that are held together: from the look to a lead's decision."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.urls import reverse

from monitoring.models import Change, Hold, Monitor, OutboxMessage, Site
from monitoring.services import brake
from tests.factories import NOW, make_change, make_monitor, make_snapshot, make_user
from tests.review.conftest import SignIn

pytestmark = pytest.mark.django_db


def fleet(changed: int = 12, still: int = 4, **extra: Any) -> list[Change]:
    """Pages on eight sites, visited minutes ago, of which so many changed."""
    sites = [Site.objects.create(name=f"Site {n}", host=f"s{n}.example") for n in range(8)]
    pages = [
        make_monitor(site=sites[n % 8], last_ok_at=NOW - timedelta(minutes=5), **extra) for n in range(changed + still)
    ]
    return [make_change(page, updated_at=NOW - timedelta(minutes=3)) for page in pages[:changed]]


def test_what_crosses_is_held_and_leaves_the_queue() -> None:
    fleet()

    assert brake.is_wanted(now=NOW)
    assert brake.look(now=NOW) == 12
    hold = Hold.objects.get()

    assert (hold.pages, hold.pages_changed, hold.sites, hold.way) == (16, 12, 8, "all")
    assert not Change.objects.waiting().exists()
    assert Change.objects.filter(hold=hold, state="open", version=2).count() == 12


def test_what_comes_later_joins_the_hold() -> None:
    fleet()
    brake.look(now=NOW)
    monitor = make_monitor(last_ok_at=NOW)
    make_change(monitor, updated_at=NOW)

    assert brake.look(now=NOW + timedelta(minutes=1)) == 1
    assert Hold.objects.count() == 1


def test_few_changes_or_many_still_pages_are_not_held() -> None:
    fleet(changed=9, still=0)
    assert not brake.is_wanted(now=NOW)
    assert brake.look(now=NOW) == 0

    fleet2 = [make_monitor(last_ok_at=NOW - timedelta(minutes=1)) for _ in range(30)]
    make_change(fleet2[0], updated_at=NOW)
    assert brake.look(now=NOW) == 0
    assert not Hold.objects.exists()


def test_only_pages_of_the_faulty_renderer_are_held() -> None:
    fleet(renderer="browser")
    plain = [make_monitor(renderer="http", last_ok_at=NOW - timedelta(minutes=1)) for _ in range(40)]
    make_change(plain[0], updated_at=NOW)

    assert brake.look(now=NOW) == 12
    assert Hold.objects.get().way == "browser"
    assert Change.objects.waiting().count() == 1


def test_leads_are_told_once(analyst: User) -> None:
    make_user("lena", role="lead")
    fleet()
    brake.look(now=NOW)
    brake.look(now=NOW + timedelta(minutes=1))

    assert [(m.recipient, m.subject) for m in OutboxMessage.objects.all()] == [
        ("lena@example.test", "Changes are held: 12 of 16 monitors changed together")
    ]


def test_released_changes_wait_and_are_not_held_again() -> None:
    lead = make_user("lena", role="lead")
    fleet()
    brake.look(now=NOW)
    hold = Hold.objects.get()

    assert brake.release(hold, actor=lead, reason="a real relaunch", now=NOW + timedelta(minutes=1)) == 12
    assert Change.objects.waiting().count() == 12
    assert brake.look(now=NOW + timedelta(minutes=2)) == 0
    with pytest.raises(ValidationError, match="already"):
        brake.drop(hold, actor=lead, reason="no", now=NOW)


def test_dropped_changes_close_and_their_pages_go_back_to_the_good_capture() -> None:
    lead = make_user("lena", role="lead")
    changes = fleet()
    change = changes[0]
    bad = make_snapshot(change.monitor, role="change")
    Monitor.objects.filter(pk=change.monitor_id).update(baseline=bad, etag="x", baseline_raw_sha256="y")
    brake.look(now=NOW)

    with pytest.raises(ValidationError, match="Say why"):
        brake.drop(Hold.objects.get(), actor=lead, reason=" ", now=NOW)
    assert brake.drop(Hold.objects.get(), actor=lead, reason="browser update", now=NOW) == 12

    monitor = Monitor.objects.get(pk=change.monitor_id)
    assert (monitor.baseline_id, monitor.etag, monitor.baseline_raw_sha256) == (change.prior_id, "", "")
    change.refresh_from_db()
    assert (change.state, change.closed_at) == ("dismissed", NOW)
    assert not change.verdicts.exists()
    assert Hold.objects.get().decided_by == lead


def test_the_banner_and_the_decision(analyst: User, sign_in: SignIn, strict_templates: None) -> None:
    fleet()
    brake.look(now=NOW)
    hold = Hold.objects.get()
    lead = sign_in(make_user("lena", role="lead"))

    assert "12 of 16 monitors on 8 sites changed together" in lead.get(reverse("queue")).content.decode()
    page = sign_in(analyst).get(reverse("hold", args=[hold.pk])).content.decode()
    assert "12 changes are held" in page
    assert "Release to the queue" not in page
    assert (
        sign_in(analyst).post(reverse("decide_hold", args=[hold.pk]), {"do": "drop", "reason": "x"}).status_code == 403
    )
    assert lead.get(reverse("decide_hold", args=[hold.pk])).status_code == 405
    answer = lead.post(reverse("decide_hold", args=[hold.pk]), {"do": "drop", "reason": "x"}, follow=True)
    assert "12 changes were dropped" in answer.content.decode()
    answer = lead.post(reverse("decide_hold", args=[hold.pk]), {"do": "release", "reason": "x"}, follow=True)
    assert "Somebody has decided on this already." in answer.content.decode()
    assert lead.get(reverse("hold", args=[hold.pk + 1])).status_code == 404
