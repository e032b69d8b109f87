"""The page between “save” and an ignore rule in admin."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from monitoring.models import Change, IgnoreRule, Monitor, PageType
from tests.factories import make_user
from tests.monitoring.site import LocalSite
from tests.monitoring.test_admin_monitors import form, ignore_row
from tests.monitoring.test_pipeline import page
from tests.monitoring.test_trials import OFFER, OFFERS, Watch, offers, seen_with, shared

__all__ = ["offers", "shared"]  # fixtures

pytestmark = pytest.mark.django_db

ADD = "admin:monitoring_ignorerule_add"
APPROVED = "We (do not )?sell personal data"


@pytest.fixture
def ada(client: Client) -> Client:
    client.force_login(make_user("ada", role="admin"))
    return client


def sent(monitor: Monitor, *, kind: str = "selector", value: str = ".offer", **more: str) -> dict[str, Any]:
    """What the form of a rule sends when “save” is pressed."""
    return {"monitor": monitor.pk, "kind": kind, "value": value, "note": "", "_save": "Save", **more}


def shown(answer: Any) -> str:
    assert answer.status_code == 200
    return str(answer.content.decode())


def test_saving_a_rule_first_shows_what_it_would_have_hidden(offers: Monitor, ada: Client) -> None:
    answer = ada.post(reverse(ADD), sent(offers))

    text = shown(answer)
    assert "sea songs" in text
    assert "content → unchanged" in text or "content → noise" in text
    assert 'name="_save"' in text
    assert 'name="value" value=".offer"' in text
    assert not IgnoreRule.objects.exists()
    assert not offers.setting_changes.filter(name="ignore").exists()


def test_a_confirmed_rule_is_saved(offers: Monitor, ada: Client) -> None:
    answer = ada.post(reverse(ADD), sent(offers, _tried="1"))

    assert answer.status_code == 302
    assert IgnoreRule.objects.get().created_by is not None
    assert offers.setting_changes.get(name="ignore").new == "selector: .offer"


def test_back_to_the_form_saves_nothing_and_keeps_what_was_written(offers: Monitor, ada: Client) -> None:
    values = sent(offers, _tried="1", _edit="Back")
    del values["_save"]

    text = shown(ada.post(reverse(ADD), values))

    assert 'value=".offer"' in text
    assert "errornote" not in text
    assert not IgnoreRule.objects.exists()


def test_a_rule_that_hides_an_approved_change_is_refused_with_a_link_to_it(offers: Monitor, ada: Client) -> None:
    approved = Change.objects.get(state="approved")

    text = shown(ada.post(reverse(ADD), sent(offers, kind="pattern", value=APPROVED)))
    again = shown(ada.post(reverse(ADD), sent(offers, kind="pattern", value=APPROVED, _tried="1", override=" ")))

    assert f'href="{approved.get_absolute_url()}"' in text
    assert 'name="override"' in text
    assert "give a reason" in again
    assert not IgnoreRule.objects.exists()


def test_a_reason_saves_a_refused_rule_and_stands_on_record(offers: Monitor, ada: Client) -> None:
    ada.post(reverse(ADD), sent(offers, kind="pattern", value=APPROVED, _tried="1", override="Watched elsewhere."))

    entry = offers.setting_changes.get(name="ignore")
    assert IgnoreRule.objects.get().value == APPROVED
    assert entry.reason == "Watched elsewhere."


def test_a_rule_for_nothing_on_the_page_is_warned_of(offers: Monitor, ada: Client) -> None:
    assert "matches nothing on the current page" in shown(ada.post(reverse(ADD), sent(offers, value=".sidebar")))


def test_a_changed_rule_is_tried_and_a_changed_note_is_not(offers: Monitor, ada: Client) -> None:
    rule = IgnoreRule.objects.create(monitor=offers, kind="selector", value=".sidebar")
    address = reverse("admin:monitoring_ignorerule_change", args=[rule.pk])

    noted = ada.post(address, {"kind": "selector", "value": ".sidebar", "note": "weekly", "_save": "Save"})
    changed = ada.post(address, {"kind": "selector", "value": ".offer", "note": "weekly", "_save": "Save"})

    assert noted.status_code == 302
    assert "sea songs" in shown(changed)
    rule.refresh_from_db()
    assert (rule.value, rule.note) == (".sidebar", "weekly")


def test_a_rule_in_a_monitors_form_is_tried_before_anything_is_saved(offers: Monitor, ada: Client) -> None:
    address = reverse("admin:monitoring_monitor_change", args=[offers.pk])
    values = form(offers, name="Renamed", url=offers.url, **ignore_row(value=".offer"))

    text = shown(ada.post(address, values))
    offers.refresh_from_db()
    before = (offers.name, offers.ignore_rules.count())
    ada.post(address, {**values, "_tried": "1", "_save": "Save"})
    offers.refresh_from_db()

    assert "sea songs" in text
    assert 'name="ignore_rules-0-value" value=".offer"' in text
    assert before[1] == 0
    assert before[0] != "Renamed"
    assert (offers.name, offers.ignore_rules.count()) == ("Renamed", 1)


def test_the_button_that_was_pressed_is_the_one_that_confirms(offers: Monitor, ada: Client) -> None:
    values = sent(offers, _continue="Save and continue editing")
    del values["_save"]

    assert 'name="_continue"' in shown(ada.post(reverse(ADD), values))


def test_a_removed_rule_needs_no_trial(offers: Monitor, ada: Client) -> None:
    rule = IgnoreRule.objects.create(monitor=offers, kind="selector", value=".offer")
    row = ignore_row(value=".offer", id=str(rule.pk), monitor=str(offers.pk), DELETE="on")
    values = form(offers, url=offers.url, **row) | {"ignore_rules-INITIAL_FORMS": "1"}

    answer = ada.post(reverse("admin:monitoring_monitor_change", args=[offers.pk]), values)

    assert answer.status_code == 302
    assert not IgnoreRule.objects.exists()


def test_a_rule_of_a_page_type_names_no_change_of_another_team(shared: PageType, ada: Client) -> None:
    Change.objects.filter(monitor__team__name="Legal").update(state="approved")
    foreign = Change.objects.get(monitor__team__name="Legal")
    values = {"page_type": shared.pk, "kind": "selector", "value": ".offer", "note": "", "_save": "Save"}

    text = shown(ada.post(reverse(ADD), values))

    assert "1 change of another team" in text
    assert foreign.monitor.name not in text
    assert f'href="{foreign.get_absolute_url()}"' not in text


def test_what_was_hidden_is_shown_as_text(watch: Watch, site: LocalSite, ada: Client) -> None:
    nasty = "Free &lt;img src=x onerror=alert(1)&gt; for every reader of the science section this week."
    monitor = seen_with(watch, site, page(extra=OFFER.format(OFFERS[0])), page(extra=OFFER.format(nasty)))

    text = shown(ada.post(reverse(ADD), sent(monitor)))

    assert "&lt;img src=x" in text
    assert "<img src=x" not in text


@pytest.mark.parametrize(("role", "staff"), [("analyst", False), ("lead", False), ("auditor", True)])
@pytest.mark.parametrize("tried", ["", "1"])
def test_who_does_not_configure_tries_and_saves_nothing(
    role: str, staff: bool, tried: str, offers: Monitor, client: Client
) -> None:
    client.force_login(make_user("eve", role=role, is_staff=staff))

    answer = client.post(reverse(ADD), sent(offers) | ({"_tried": tried} if tried else {}))

    assert answer.status_code in {302, 403}
    assert "login" in answer.get("Location", "login")
    assert not IgnoreRule.objects.exists()


def test_an_admin_of_another_team_learns_nothing_from_a_trial(offers: Monitor, client: Client) -> None:
    from tests.factories import make_team

    client.force_login(make_user("eve", role="admin", team=make_team("Legal")))

    text = shown(client.post(reverse(ADD), sent(offers)))

    assert "sea songs" not in text
    assert not IgnoreRule.objects.exists()
