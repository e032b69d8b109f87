"""Who gets where in admin: anonymous, analyst, auditor, admin, another team's admin."""

from __future__ import annotations

from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from monitoring.models import FieldRule, IgnoreRule, Monitor, PageType, SettingChange, Site, Team, Vantage
from tests.factories import make_change, make_monitor, make_page_type, make_team, make_user

pytestmark = pytest.mark.django_db

MODELS = [model for model in admin.site._registry if model._meta.app_label in {"monitoring", "review", "auth"}]
LISTS = [f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist" for model in MODELS]
SUPERUSERS_ONLY = {"admin:monitoring_payload_changelist", "admin:monitoring_outboxmessage_changelist"}
CONFIGURED = {"monitor", "pagetype", "vantage", "fieldrule", "ignorerule", "site", "team", "user", "route"}
EVIDENCE = [model for model in MODELS if model._meta.model_name not in CONFIGURED]


def signed_in(name: str, **extra: Any) -> Client:
    client = Client()
    client.force_login(make_user(name, **extra))
    return client


@pytest.fixture
def ada() -> Client:
    return signed_in("ada", role="admin")


@pytest.fixture
def auditor() -> Client:
    return signed_in("audrey", role="auditor", is_staff=True)


@pytest.mark.parametrize("name", [*LISTS, "admin:index", "admin:monitoring_monitor_import"])
def test_anonymous_is_sent_to_sign_in(name: str, client: Client) -> None:
    answer = client.get(reverse(name))

    assert answer.status_code == 302
    assert "login" in answer["Location"]


@pytest.mark.parametrize("role", ["analyst", "lead"])
@pytest.mark.parametrize("name", [*LISTS, "admin:index", "admin:monitoring_monitor_import"])
def test_who_only_reviews_does_not_get_in(name: str, role: str) -> None:
    answer = signed_in("ines", role=role).get(reverse(name))

    assert answer.status_code == 302
    assert "login" in answer["Location"]


@pytest.mark.parametrize("name", LISTS)
def test_an_admin_sees_what_is_not_for_superusers(name: str, ada: Client) -> None:
    make_change()

    assert ada.get(reverse(name)).status_code == (403 if name in SUPERUSERS_ONLY else 200)


@pytest.mark.parametrize("name", LISTS)
def test_an_auditor_sees_the_same_and_adds_nothing(name: str, auditor: Client) -> None:
    assert auditor.get(reverse(name)).status_code == (403 if name in SUPERUSERS_ONLY else 200)
    assert auditor.get(reverse(name.replace("changelist", "add"))).status_code == 403


def test_an_auditor_changes_nothing(auditor: Client) -> None:
    monitor = make_monitor()
    address = reverse("admin:monitoring_monitor_change", args=[monitor.pk])

    shown, sent = auditor.get(address), auditor.post(address, {"name": "Mine", "_preview": "1"})

    assert shown.status_code == 200
    assert sent.status_code == 403
    assert 'name="_save"' not in shown.content.decode()
    assert 'name="_preview"' not in shown.content.decode()


@pytest.mark.parametrize("action", ["pause", "check_now", "move_to_page_type", "calibrate"])
def test_an_auditor_has_no_bulk_actions(action: str, auditor: Client) -> None:
    monitor = make_monitor()

    auditor.post(
        reverse("admin:monitoring_monitor_changelist"),
        {"action": action, "index": "0", "_selected_action": [monitor.pk]},
    )

    monitor.refresh_from_db()
    assert monitor.enabled
    assert not SettingChange.objects.exists()


def test_an_auditor_cannot_import(auditor: Client) -> None:
    assert auditor.get(reverse("admin:monitoring_monitor_import")).status_code == 403


@pytest.mark.parametrize("model", EVIDENCE, ids=lambda model: model._meta.model_name)
@pytest.mark.parametrize("verb", ["add", "change", "delete"])
def test_nobody_writes_evidence_not_even_a_superuser(model: Any, verb: str) -> None:
    root = signed_in("root", role="admin", is_superuser=True)
    make_change()
    row = model._default_manager.first()
    arguments = [] if verb == "add" else [row.pk if row else 1]
    address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{verb}", args=arguments)

    answer = root.post(address, {"post": "yes", "state": "approved"})

    assert answer.status_code in ({403} if row or verb == "add" else {302, 403})
    if row is not None:
        assert model._default_manager.filter(pk=row.pk).exists()


def foreign_rows() -> dict[str, Any]:
    """A row of each kind that belongs to another team."""
    legal = make_team("Legal")
    monitor = make_monitor(team=legal)
    change = make_change(monitor)
    return {
        "monitoring.monitor": monitor,
        "monitoring.change": change,
        "monitoring.check": change.check_row,
        "monitoring.snapshot": change.prior,
        "monitoring.site": monitor.site,
        "monitoring.team": legal,
        "monitoring.fieldrule": FieldRule.objects.create(monitor=monitor, name="p", source="css", selector="p"),
        "monitoring.ignorerule": IgnoreRule.objects.create(monitor=monitor, kind="selector", value="p"),
        "monitoring.settingchange": SettingChange.objects.create(monitor=monitor, name="url"),
        "auth.user": make_user("lea", role="analyst", team=legal),
    }


KINDS = ["monitor", "change", "check", "snapshot", "site", "team", "fieldrule", "ignorerule", "settingchange"]


@pytest.mark.parametrize("name", [f"monitoring.{kind}" for kind in KINDS] + ["auth.user"])
@pytest.mark.parametrize("verb", ["change", "delete", "history"])
def test_another_teams_row_does_not_exist(name: str, verb: str, ada: Client) -> None:
    row = foreign_rows()[name]
    address = reverse(f"admin:{name.replace('.', '_')}_{verb}", args=[row.pk])

    shown, sent = ada.get(address), ada.post(address, {"post": "yes"})

    assert shown.status_code in {302, 403, 404}
    assert sent.status_code in {302, 403, 404}
    assert apps.get_model(name)._default_manager.filter(pk=row.pk).exists()


@pytest.mark.parametrize("name", [f"monitoring.{kind}" for kind in KINDS] + ["auth.user"])
def test_another_teams_row_is_not_in_the_list(name: str, ada: Client) -> None:
    row = foreign_rows()[name]

    answer = ada.get(reverse(f"admin:{name.replace('.', '_')}_changelist"))

    assert row not in answer.context["cl"].queryset


@pytest.mark.parametrize("value", ["²", "9" * 30, "-1", "1 or 1=1", "\x00", "%"])
@pytest.mark.parametrize(
    "address", ["monitor_changelist?site", "monitor_changelist?last", "check_changelist?team", "change_changelist?team"]
)
def test_a_filter_takes_any_value(address: str, value: str, ada: Client) -> None:
    make_change()
    name, parameter = address.split("?")

    answer = ada.get(reverse(f"admin:monitoring_{name}"), {parameter: value})

    assert answer.status_code in {200, 302}


def test_filters_offer_no_foreign_teams(ada: Client) -> None:
    make_change()
    make_change(make_monitor(team=make_team("Legal")))

    pages = [
        ada.get(reverse(f"admin:monitoring_{name}_changelist")).content.decode()
        for name in ("check", "change", "monitor")
    ]

    assert not any("Legal" in page for page in pages)


@pytest.mark.parametrize("name", ["check", "change", "snapshot", "site", "team", "pagetype", "settingchange"])
def test_lists_take_few_queries_however_long(name: str, ada: Client, django_assert_max_num_queries: Any) -> None:
    for number in range(12):
        monitor = make_monitor()
        make_change(monitor)
        SettingChange.objects.create(monitor=monitor, name="url")
        make_page_type(f"type-{number}")

    with django_assert_max_num_queries(22):
        ada.get(reverse(f"admin:monitoring_{name}_changelist"))


def test_completion_offers_no_foreign_monitors(ada: Client) -> None:
    make_monitor(name="Visible one")
    make_monitor(name="Foreign one", team=make_team("Legal"))
    asked = {"term": "one", "app_label": "monitoring", "model_name": "fieldrule", "field_name": "monitor"}

    found = ada.get(reverse("admin:autocomplete"), asked).json()["results"]

    assert [row["text"] for row in found] == ["Visible one"]


def test_a_rule_cannot_be_given_to_a_foreign_monitor(ada: Client) -> None:
    foreign = make_monitor(team=make_team("Legal"))

    ada.post(reverse("admin:monitoring_ignorerule_add"), {"monitor": foreign.pk, "kind": "selector", "value": ".ad"})

    assert not IgnoreRule.objects.exists()


def test_a_rule_added_by_itself_is_on_record(ada: Client) -> None:
    monitor = make_monitor()

    ada.post(reverse("admin:monitoring_ignorerule_add"), {"monitor": monitor.pk, "kind": "selector", "value": ".ad"})

    row = SettingChange.objects.get()
    assert (row.monitor, row.name, row.new, row.actor_name) == (monitor, "ignore", "selector: .ad", "ada")


@pytest.mark.parametrize(
    ("changed", "baseline"),
    [({"important": "on"}, ""), ({"selector": "#cost"}, "rules changed"), ({"enabled": ""}, "rules changed")],
)
def test_only_a_rule_that_reads_differently_asks_for_a_new_baseline(
    changed: dict[str, str], baseline: str, ada: Client
) -> None:
    monitor = make_monitor()
    rule = FieldRule.objects.create(monitor=monitor, name="price", source="css", selector="#price", type="price")
    values = {"name": "price", "source": "css", "selector": "#price", "attribute": "", "type": "price"}
    values |= {"review": "unknown", "enabled": "on", **changed}

    ada.post(reverse("admin:monitoring_fieldrule_change", args=[rule.pk]), {n: v for n, v in values.items() if v})

    monitor.refresh_from_db()
    assert SettingChange.objects.count() == 1
    assert monitor.rebaseline == baseline


def test_a_rule_stays_with_its_owner(ada: Client) -> None:
    rule = IgnoreRule.objects.create(monitor=make_monitor(), kind="selector", value=".ad")

    ada.post(
        reverse("admin:monitoring_ignorerule_change", args=[rule.pk]),
        {"monitor": make_monitor().pk, "kind": "selector", "value": ".advert"},
    )

    rule.refresh_from_db()
    assert rule.value == ".advert"
    assert SettingChange.objects.get().monitor == rule.monitor


def test_a_rule_belongs_to_a_monitor_or_a_page_type_not_both(ada: Client) -> None:
    monitor = make_monitor()
    both = {"monitor": monitor.pk, "page_type": monitor.page_type_id, "kind": "selector", "value": ".ad"}

    answer = ada.post(reverse("admin:monitoring_ignorerule_add"), both)

    assert "Choose either a monitor or a page type" in answer.content.decode()


def test_a_rule_removed_from_the_list_is_on_record(ada: Client) -> None:
    rule = IgnoreRule.objects.create(monitor=make_monitor(), kind="selector", value=".ad")

    ada.post(
        reverse("admin:monitoring_ignorerule_changelist"),
        {"action": "delete_selected", "_selected_action": [rule.pk], "post": "yes"},
    )

    assert not IgnoreRule.objects.exists()
    assert SettingChange.objects.get().old == "selector: .ad"


def test_a_page_types_change_is_on_record(ada: Client) -> None:
    page_type = make_page_type()
    values = {
        "name": page_type.name, "slug": page_type.slug, "cut": "0.4", "threshold": "5", "weight": "1",
        "audit_share": "0", "default_interval_s": "6 h", "tell_after": "3", "remind_days": "7", "reason": "calibrated",
    }  # fmt: skip
    for prefix in ("field_rules", "ignore_rules"):
        values |= {f"{prefix}-TOTAL_FORMS": "0", f"{prefix}-INITIAL_FORMS": "0"}

    ada.post(reverse("admin:monitoring_pagetype_change", args=[page_type.pk]), values)

    rows = set(SettingChange.objects.values_list("name", "old", "new", "reason"))
    assert rows == {("cut", "0.5", "0.4", "calibrated"), ("threshold", "3", "5", "calibrated")}


def test_a_page_type_in_use_cannot_be_deleted(ada: Client) -> None:
    page_type = make_monitor().page_type

    ada.post(reverse("admin:monitoring_pagetype_delete", args=[page_type.pk]), {"post": "yes"})

    assert PageType.objects.filter(pk=page_type.pk).exists()


def test_who_makes_a_team_is_in_it(ada: Client) -> None:
    ada.post(reverse("admin:monitoring_team_add"), {"name": "Procurement", "members": [], "budget_counts": "cost"})

    assert list(Team.objects.get(name="Procurement").members.values_list("username", flat=True)) == ["ada"]


def test_a_team_cannot_be_given_people_of_another(ada: Client) -> None:
    lea = make_user("lea", team=make_team("Legal"))
    team = make_team()

    ada.post(
        reverse("admin:monitoring_team_change", args=[team.pk]),
        {"name": team.name, "members": [lea.pk, User.objects.get(username="ada").pk]},
    )

    assert not team.members.filter(pk=lea.pk).exists()


# --- vantages ------------------------------------------------------------------------------------------------------

SECRET = "hunter2"
PROXY = f"http://customer-halden-country-de:{SECRET}@gate.example:7777"


TEMPLATE = "http://customer-halden-country-{country}:{secret:GATE}@gate.example:7777"


def vantage_form(**changed: Any) -> dict[str, Any]:
    values = {"name": "Germany", "country": "de", "proxy_url": TEMPLATE, "language": "de-DE,de;q=0.9", "user_agent": ""}
    return {**values, "time_zone": "Europe/Berlin", "viewport_width": "1280", "viewport_height": "900", **changed}


def test_a_vantage_is_saved_with_its_proxy(ada: Client) -> None:
    ada.post(reverse("admin:monitoring_vantage_add"), vantage_form())

    vantage = Vantage.objects.get()
    assert (vantage.country, vantage.proxy_url) == ("DE", TEMPLATE)


@pytest.mark.parametrize("who", ["ada", "auditor"])
def test_a_proxys_password_is_never_shown(who: str, request: pytest.FixtureRequest) -> None:
    client: Client = request.getfixturevalue(who)
    vantage = Vantage.objects.create(name="Germany", proxy_url=PROXY)

    pages = [
        client.get(reverse("admin:monitoring_vantage_changelist")).content.decode(),
        client.get(reverse("admin:monitoring_vantage_change", args=[vantage.pk])).content.decode(),
    ]

    assert all(SECRET not in page for page in pages)
    assert all("customer-halden-country-de:••••••@gate.example:7777" in page for page in pages)


def test_a_form_with_the_masked_proxy_keeps_the_password(ada: Client) -> None:
    vantage = Vantage.objects.create(name="Germany", proxy_url=PROXY)
    masked = PROXY.replace(SECRET, "••••••")

    ada.post(
        reverse("admin:monitoring_vantage_change", args=[vantage.pk]),
        vantage_form(proxy_url=masked, name="Deutschland"),
    )

    vantage.refresh_from_db()
    assert (vantage.name, vantage.proxy_url) == ("Deutschland", PROXY)


def test_a_masked_password_does_not_follow_to_another_host(ada: Client) -> None:
    vantage = Vantage.objects.create(name="Germany", proxy_url=PROXY)
    moved = PROXY.replace(SECRET, "••••••").replace("gate.example", "thief.example")

    answer = ada.post(reverse("admin:monitoring_vantage_change", args=[vantage.pk]), vantage_form(proxy_url=moved))

    vantage.refresh_from_db()
    assert vantage.proxy_url == PROXY
    assert "Enter the password again" in answer.content.decode()


@pytest.mark.parametrize("lookup", ["proxy_url__startswith", "proxy_url__contains", "proxy_url"])
def test_a_proxys_password_cannot_be_guessed_through_the_lists_address(lookup: str, ada: Client) -> None:
    Vantage.objects.create(name="Germany", proxy_url=PROXY)

    answer = ada.get(reverse("admin:monitoring_vantage_changelist"), {lookup: "http://customer-halden-country-de:h"})

    assert answer.status_code == 400


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"country": "Germany"}, "at most 2 characters"),
        ({"country": "1x"}, "expected two letters"),
        ({"time_zone": "Mars/Base"}, "expected a name such as Europe/Berlin"),
        ({"language": "de\r\nHost: x"}, "is no language"),
        ({"language": "de;q=9"}, "is no language"),
        ({"user_agent": "x\x01y"}, "printable ASCII"),
        ({"user_agent": "Größe"}, "printable ASCII"),
        ({"viewport_width": "20"}, "out of range"),
        ({"proxy_url": "socks5://gate.example:1080"}, "must be http or https"),
        ({"proxy_url": "file:///etc/passwd"}, "must be http or https"),
        ({"proxy_url": "http://gate.example"}, "Expected http://USER"),
        ({"proxy_url": "http://127.0.0.1:3128"}, "no public address"),
        ({"proxy_url": "http://me@169.254.169.254:80"}, "no public address"),
        ({"proxy_url": PROXY}, "A password is not kept here"),
        ({"proxy_url": "http://me:x{secret:GATE}@gate.example:7777"}, "A password is not kept here"),
        ({"proxy_url": "http://me:{secret:gate}@gate.example:7777"}, "names no secret"),
        ({"proxy_url": "http://me:{secret:KEY}@gate.example:7777"}, "names no secret"),
        ({"proxy_url": "http://{secret:GATE}.example:7777"}, "the user or the password only"),
        ({"proxy_url": "http://me-{land}@gate.example:7777"}, "found {land}"),
        ({"proxy_url": TEMPLATE, "country": ""}, "say which country"),
        ({"locale": "de_AT"}, "is no locale"),
        ({"proxy_url": "http://[::ffff:10.0.0.1]:8080"}, "public"),
        ({"proxy_url": "http://gate.example:7777/path"}, "nothing behind the port"),
    ],
)
def test_what_is_wrong_with_a_vantage_is_named(changed: dict[str, str], said: str, ada: Client) -> None:
    answer = ada.post(reverse("admin:monitoring_vantage_add"), vantage_form(**changed))

    assert answer.status_code == 200
    assert said in answer.context["adminform"].form.errors.as_text()
    assert not Vantage.objects.exists()


def test_a_proxy_that_the_deployment_names_may_be_private(ada: Client, settings: Any) -> None:
    settings.TRUSTED_PROXIES = ["10.0.0.5:3128"]

    ada.post(reverse("admin:monitoring_vantage_add"), vantage_form(proxy_url="http://10.0.0.5:3128"))

    assert Vantage.objects.get().proxy_url == "http://10.0.0.5:3128"


def test_a_changed_vantage_is_on_record_at_its_monitors(ada: Client) -> None:
    monitor = make_monitor()

    ada.post(reverse("admin:monitoring_vantage_change", args=[monitor.vantage_id]), vantage_form(name="default"))

    monitor.refresh_from_db()
    assert monitor.rebaseline == "vantage changed"
    names = set(monitor.setting_changes.values_list("name", flat=True))
    assert "vantage default: country" in names
    assert not SettingChange.objects.filter(new__contains=SECRET).exists()


# --- sites ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["http://halden.example/", "halden.example/x", "10.0.0.1", "localhost", "a b"])
def test_a_site_is_a_public_host(host: str) -> None:
    root = signed_in("root", role="admin", is_superuser=True)

    root.post(reverse("admin:monitoring_site_add"), {"name": "Halden", "host": host, "gap_s": "1"})

    assert not Site.objects.exists()


def test_monitors_survive_the_deletion_of_their_site(ada: Client) -> None:
    monitor = make_monitor()

    ada.post(reverse("admin:monitoring_site_delete", args=[monitor.site_id]), {"post": "yes"})

    assert Monitor.objects.filter(pk=monitor.pk).exists()
