"""Monitors in admin: saved through the services, refused in words, previewed, moved, imported."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from monitoring.models import CalibrationRun, Check, FieldRule, IgnoreRule, Monitor, PageType, SettingChange, Vantage
from tests.factories import make_check, make_monitor, make_page_type, make_snapshot, make_team, make_user
from tests.monitoring.test_monitors_service import HOSTILE

pytestmark = pytest.mark.django_db

ADD = "admin:monitoring_monitor_add"
LIST = "admin:monitoring_monitor_changelist"


@pytest.fixture
def ada(client: Client) -> Client:
    """Signed in as an admin of the team Compliance."""
    client.force_login(make_user("ada", role="admin"))
    return client


def form(monitor: Monitor | None = None, **changed: Any) -> dict[str, Any]:
    """What the monitor form sends."""
    values: dict[str, Any] = {
        "url": "https://halden.example/privacy",
        "name": "Privacy",
        "team": make_team().pk,
        "page_type": make_page_type().pk,
        "vantage": Vantage.objects.get_or_create(name="default")[0].pk,
        "enabled": "on",
        "renderer": "http",
        "wait_selector": "",
        "main_selector": "",
        "cut": "",
        "threshold": "",
        "order_matters": "unknown",
        "case_matters": "unknown",
        "interval_s": "",
        "min_interval_s": "5 min",
        "max_interval_s": "7 d",
        "weight": "",
        "reason": "",
    }
    if monitor is not None:
        values |= {"url": monitor.url, "name": monitor.name, "team": monitor.team_id, "page_type": monitor.page_type_id}
        values |= {"vantage": monitor.vantage_id}
    for prefix in ("field_rules", "ignore_rules"):
        values |= {f"{prefix}-TOTAL_FORMS": "0", f"{prefix}-INITIAL_FORMS": "0"}
    return {**values, **changed}


def field_row(**changed: Any) -> dict[str, Any]:
    row = {"name": "price", "source": "css", "selector": "#price", "attribute": "", "type": "price", "enabled": "on"}
    row |= {"review": "unknown", **changed}
    return {"field_rules-TOTAL_FORMS": "1", **{f"field_rules-0-{name}": value for name, value in row.items()}}


def ignore_row(**changed: Any) -> dict[str, Any]:
    row = {"kind": "selector", "value": ".ad", "note": "", **changed}
    return {"ignore_rules-TOTAL_FORMS": "1", **{f"ignore_rules-0-{name}": value for name, value in row.items()}}


def errors(answer: Any) -> str:
    """All errors of the form on a page, as text."""
    found = [str(answer.context["adminform"].form.errors.as_text())]
    for formset in answer.context["inline_admin_formsets"]:
        found += [one.as_text() for one in formset.formset.errors]
    return " ".join(found)


# --- adding --------------------------------------------------------------------------------------------------------


def test_a_new_monitor_is_due_at_once_and_on_record(ada: Client) -> None:
    answer = ada.post(reverse(ADD), form())

    assert answer.status_code == 302
    monitor = Monitor.objects.get()
    assert monitor.next_check_at is not None
    assert monitor.next_check_at <= timezone.now()
    assert monitor.site.host == "halden.example"
    assert monitor.created_by is not None
    assert monitor.setting_changes.get().actor_name == "ada"


@pytest.mark.parametrize(("url", "code"), [row for row in HOSTILE if len(row[0]) < 2000])
def test_a_hostile_address_is_refused_in_the_form(url: str, code: str, ada: Client) -> None:
    answer = ada.post(reverse(ADD), form(url=url))

    assert answer.status_code == 200
    assert [error.code for error in answer.context["adminform"].form.errors.as_data()["url"]] == [code]
    assert not Monitor.objects.exists()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"main_selector": "main["}, "does not parse"),
        ({"main_selector": "//main"}, "looks like XPath"),
        ({"wait_selector": "#ready"}, "Only a browser can wait"),
        ({"renderer": "browser", "wait_selector": ":::"}, "does not parse"),
        ({"steps": '[{"do": "consent"}]'}, "Only a browser does steps"),
        ({"renderer": "auto", "steps": '[{"do": "click"}]'}, "Step 1: click needs exactly one of selector, text"),
        ({"renderer": "browser", "steps": "[{"}, "valid JSON"),
        ({"interval_s": "soon"}, "no length of time"),
        ({"interval_s": "1 s"}, "out of range"),
        ({"min_interval_s": "9 d"}, "Shorter than the minimum"),
        ({"threshold": "65"}, "less than or equal to 64"),
        ({"cut": "1.01"}, "less than or equal to 1"),
        ({"weight": "0"}, "greater than or equal to 0.01"),
        ({"name": ""}, "required"),
        (field_row(selector="#price["), "does not parse"),
        (field_row(source="jsonld", selector="a..b"), "not of the form"),
        (field_row(source="meta", attribute="content"), "CSS selector only"),
        (ignore_row(value="main["), "does not parse"),
        (ignore_row(value="body"), "whole page"),
        (ignore_row(kind="pattern", value="(a"), "never closed"),
        (ignore_row(kind="pattern", value="(?=a)b"), "look-ahead"),
        (ignore_row(kind="pattern", value=r"(a)\1"), "back-reference"),
        (ignore_row(kind="pattern", value=".*"), "would hide every change"),
        (ignore_row(kind="pattern", value="((a{100}){100}){100}"), "more than 1,000 times"),
        (ignore_row(kind="block", value="x"), "at least 3"),
    ],
)
def test_what_is_wrong_is_named_in_the_form(changed: dict[str, Any], said: str, ada: Client) -> None:
    answer = ada.post(reverse(ADD), form(**changed))

    assert answer.status_code == 200
    assert said in errors(answer)
    assert not Monitor.objects.exists()


def test_the_same_page_twice_is_refused_in_the_form(ada: Client) -> None:
    ada.post(reverse(ADD), form())

    answer = ada.post(reverse(ADD), form(url="HTTPS://halden.example:443/privacy"))

    assert answer.status_code == 200
    assert Monitor.objects.count() == 1


def test_fields_that_are_not_in_the_form_are_passed_over(ada: Client) -> None:
    ada.post(
        reverse(ADD),
        form(is_sample="on", state="ok", lease_token="mine", check_no="7", site="1", created_by="1", rebaseline="x"),
    )

    monitor = Monitor.objects.get()
    assert (monitor.is_sample, monitor.state, monitor.lease_token, monitor.check_no) == (False, "unread", "", 0)
    assert monitor.rebaseline == ""


def test_a_foreign_team_cannot_be_given_a_monitor(ada: Client) -> None:
    answer = ada.post(reverse(ADD), form(team=make_team("Legal").pk))

    assert answer.status_code == 200
    assert "team" in answer.context["adminform"].form.errors
    assert not Monitor.objects.exists()


def test_rows_of_fields_and_ignore_rules_are_saved_and_on_record(ada: Client) -> None:
    ada.post(reverse(ADD), form(**field_row(), **ignore_row()))

    monitor = Monitor.objects.get()
    assert monitor.field_rules.get().selector == "#price"
    assert monitor.ignore_rules.get().created_by is not None
    names = set(monitor.setting_changes.values_list("name", flat=True))
    assert names == {"created", "field price", "ignore"}


# --- changing ------------------------------------------------------------------------------------------------------


def change(monitor: Monitor) -> str:
    return reverse("admin:monitoring_monitor_change", args=[monitor.pk])


def test_a_change_is_recorded_with_its_reason(ada: Client) -> None:
    monitor = make_monitor()

    ada.post(change(monitor), form(monitor, threshold="7", reason="too noisy"))

    row = SettingChange.objects.get()
    assert (row.name, row.old, row.new, row.actor_name, row.reason) == ("threshold", "", "7", "ada", "too noisy")


def test_a_form_that_changes_nothing_leaves_no_row(ada: Client) -> None:
    monitor = make_monitor()

    ada.post(change(monitor), form(monitor))

    assert not SettingChange.objects.exists()


def test_a_changed_selector_says_that_a_new_baseline_follows(ada: Client) -> None:
    monitor = make_monitor()
    monitor.baseline = make_snapshot(monitor)
    monitor.save()

    answer = ada.post(change(monitor), form(monitor, main_selector="main"), follow=True)

    monitor.refresh_from_db()
    assert monitor.rebaseline == "main region changed"
    assert "new baseline: main region changed" in answer.content.decode()


def test_a_changed_field_is_on_record_with_what_it_was(ada: Client) -> None:
    monitor = make_monitor()
    rule = FieldRule.objects.create(monitor=monitor, name="price", source="css", selector="#price", type="price")
    row = field_row(id=rule.pk, selector="#cost")

    ada.post(change(monitor), form(monitor, **row, **{"field_rules-INITIAL_FORMS": "1"}))

    kept = SettingChange.objects.get()
    assert (kept.old, kept.new) == ("css #price as price", "css #cost as price")


def test_a_removed_field_is_on_record(ada: Client) -> None:
    monitor = make_monitor()
    rule = FieldRule.objects.create(monitor=monitor, name="price", source="css", selector="#price", type="price")
    row = field_row(id=rule.pk, DELETE="on")

    ada.post(change(monitor), form(monitor, **row, **{"field_rules-INITIAL_FORMS": "1"}))

    assert not FieldRule.objects.exists()
    kept = SettingChange.objects.get()
    assert (kept.name, kept.old, kept.new) == ("field price", "css #price as price", "")


def test_a_sample_page_can_be_edited_without_its_address_being_refused(ada: Client) -> None:
    monitor = make_monitor(url="http://127.0.0.1:8000/sample/terms/", is_sample=True)

    ada.post(change(monitor), form(monitor, name="Renamed"))

    monitor.refresh_from_db()
    assert monitor.name == "Renamed"


def test_a_sample_page_cannot_be_pointed_elsewhere_inside(ada: Client) -> None:
    monitor = make_monitor(url="http://127.0.0.1:8000/sample/terms/", is_sample=True)

    answer = ada.post(change(monitor), form(monitor, url="http://127.0.0.1:8000/queue/"))

    assert "url" in answer.context["adminform"].form.errors


def test_the_form_shows_what_was_found_and_who_changed_what(ada: Client) -> None:
    monitor = make_monitor()
    make_check(monitor, score=0.81, cut=0.5, reasons=[{"code": "negation", "detail": "not was removed"}])
    ada.post(change(monitor), form(monitor, threshold="7"))

    page = ada.get(change(monitor)).content.decode()

    assert "0.81 / 0.50" in page
    assert "not was removed" in page
    assert "threshold: – → 7" in page


def test_a_monitor_that_was_checked_cannot_be_deleted(ada: Client) -> None:
    monitor = make_monitor()
    make_check(monitor)

    answer = ada.post(reverse("admin:monitoring_monitor_delete", args=[monitor.pk]), {"post": "yes"})

    assert answer.status_code == 403
    assert Monitor.objects.exists()


def test_a_monitor_that_was_never_checked_can_go(ada: Client) -> None:
    ada.post(reverse(ADD), form(**field_row()))
    monitor = Monitor.objects.get()

    ada.post(reverse("admin:monitoring_monitor_delete", args=[monitor.pk]), {"post": "yes"})

    assert not Monitor.objects.exists()


# --- bulk actions --------------------------------------------------------------------------------------------------


def act(client: Client, action: str, *rows: Monitor, **extra: Any) -> Any:
    data = {"action": action, "index": "0", "select_across": "0", "_selected_action": [row.pk for row in rows], **extra}
    return client.post(reverse(LIST), data, follow=True)


def test_pause_and_resume(ada: Client) -> None:
    monitor = make_monitor()

    act(ada, "pause", monitor)
    monitor.refresh_from_db()
    paused = monitor.enabled
    act(ada, "resume", monitor)

    monitor.refresh_from_db()
    assert (paused, monitor.enabled) == (False, True)


def test_check_now_says_what_was_left_alone(ada: Client) -> None:
    monitor = make_monitor(next_check_at=timezone.now() + timedelta(days=1))

    answer = act(ada, "check_now", monitor, make_monitor(enabled=False))

    monitor.refresh_from_db()
    assert monitor.next_check_at is not None
    assert monitor.next_check_at <= timezone.now()
    assert "1 is paused and was left alone" in answer.content.decode()


def test_moving_asks_where_to_first(ada: Client) -> None:
    monitor = make_monitor()

    answer = act(ada, "move_to_page_type", monitor)

    monitor.refresh_from_db()
    assert monitor.page_type.slug == "privacy-policy"
    assert f'name="_selected_action" value="{monitor.pk}"' in answer.content.decode()


def test_moving_moves_the_chosen_ones(ada: Client) -> None:
    monitor, other, terms = make_monitor(), make_monitor(), make_page_type("terms")

    act(ada, "move_to_page_type", monitor, move="Move", page_type=terms.pk, reason="sorted")

    monitor.refresh_from_db()
    other.refresh_from_db()
    assert monitor.page_type == terms
    assert other.page_type != terms
    assert SettingChange.objects.get().reason == "sorted"


def test_all_that_match_means_the_same_after_the_question(ada: Client) -> None:
    make_monitor(name="Alpha")
    make_monitor(name="Beta")
    terms = make_page_type("terms")
    data = {"action": "move_to_page_type", "index": "0", "select_across": "1", "_selected_action": ["1"]}

    asked = ada.post(f"{reverse(LIST)}?q=Alpha", data)
    ada.post(asked.context["back"], {**data, "move": "Move", "page_type": terms.pk, "reason": ""})

    assert list(Monitor.objects.filter(page_type=terms).values_list("name", flat=True)) == ["Alpha"]


def test_calibrate_starts_a_run_that_waits_for_a_worker(ada: Client) -> None:
    monitor = make_monitor()

    act(ada, "calibrate", monitor)

    run = CalibrationRun.objects.get()
    assert (run.monitor, run.state) == (monitor, "waiting")
    assert run.requested_by is not None


def test_calibrating_twice_says_that_one_is_under_way(ada: Client) -> None:
    monitor = make_monitor()
    act(ada, "calibrate", monitor)

    answer = act(ada, "calibrate", monitor)

    assert "already under way" in answer.content.decode()
    assert CalibrationRun.objects.count() == 1


def test_an_action_on_foreign_monitors_does_nothing(ada: Client) -> None:
    foreign = make_monitor(team=make_team("Legal"))

    act(ada, "pause", foreign)

    foreign.refresh_from_db()
    assert foreign.enabled


# --- the list ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    ["state__exact=unread", "enabled__exact=1", "last=content", "last=never", "renderer__exact=http", "site=1", "q=halden", "last=x", "site=x"],
)  # fmt: skip
def test_each_filter_of_the_list_works(query: str, ada: Client) -> None:
    make_check(make_monitor())

    assert ada.get(f"{reverse(LIST)}?{query}").status_code == 200


def test_the_filter_by_the_last_outcome_looks_at_the_newest_check(ada: Client) -> None:
    monitor = make_monitor(check_no=2)
    make_check(monitor, check_no=1, outcome="content", started_at=timezone.now() - timedelta(hours=1))
    make_check(monitor, check_no=2, outcome="none", started_at=timezone.now())

    by_old = ada.get(f"{reverse(LIST)}?last=content").context["cl"].result_count
    by_new = ada.get(f"{reverse(LIST)}?last=none").context["cl"].result_count

    assert (by_old, by_new) == (0, 1)


def test_the_list_takes_the_same_queries_however_long_it_is(ada: Client, django_assert_max_num_queries: Any) -> None:
    for _number in range(30):
        make_check(make_monitor())

    with django_assert_max_num_queries(30):
        ada.get(reverse(LIST))


# --- preview -------------------------------------------------------------------------------------------------------

PAGE = (
    b"<html><title>Terms</title><main><h1>Terms</h1><p>You may send back what you bought within thirty days, and we pay"
    b" for the way back.</p><p id=price>89,00 EUR</p><p>Read at 12:30 by our staff &lt;script&gt;alert(1)&lt;/script&gt;"
    b" in the office.</p></main></html>"
)


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, format: str, *args: Any) -> None:
        """Silent."""


@pytest.fixture
def site(settings: Any) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        settings.TEST_ALLOWED_ADDRESSES = [f"127.0.0.1:{server.server_port}"]
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_preview_shows_the_page_and_saves_nothing(site: str, ada: Client) -> None:
    answer = ada.post(reverse(ADD), form(url=f"{site}/terms", _preview="Preview", **field_row()))

    page = answer.content.decode()
    assert "send back what you bought" in page
    assert "89.00 EUR" in page
    assert '<mark title="clock">12:30' in page
    assert not Monitor.objects.exists()
    assert not PageType.objects.filter(field_rules__isnull=False).exists()


def test_text_of_a_previewed_page_is_never_markup(site: str, ada: Client) -> None:
    page = ada.post(reverse(ADD), form(url=f"{site}/terms", _preview="Preview")).content.decode()

    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_a_preview_can_be_saved_from_its_page(site: str, ada: Client) -> None:
    seen = ada.post(reverse(ADD), form(url=f"{site}/terms", _preview="Preview", **field_row()))

    ada.post(seen.context["form_url"], {**dict(seen.context["kept"]), "_save": "Save"})

    assert Monitor.objects.get().field_rules.get().name == "price"


def test_back_to_the_form_brings_the_values_back_and_saves_nothing(site: str, ada: Client) -> None:
    seen = ada.post(reverse(ADD), form(url=f"{site}/terms", name="Mine", _preview="Preview"))

    back = ada.post(seen.context["form_url"], {**dict(seen.context["kept"]), "_edit": "Back"})

    assert back.status_code == 200
    assert 'value="Mine"' in back.content.decode()
    assert not Monitor.objects.exists()


def test_a_preview_needs_no_name(site: str, ada: Client) -> None:
    answer = ada.post(reverse(ADD), form(url=f"{site}/terms", name="", _preview="Preview"))

    assert "send back what you bought" in answer.content.decode()
    assert 'name="_save"' not in answer.content.decode()


def test_a_preview_of_a_refused_address_shows_the_form_with_the_reason(ada: Client) -> None:
    answer = ada.post(reverse(ADD), form(url="http://10.0.0.1/", _preview="Preview"))

    assert "url" in answer.context["adminform"].form.errors
    assert not Monitor.objects.exists()


def test_a_preview_of_a_changed_monitor_changes_nothing(site: str, ada: Client) -> None:
    monitor = make_monitor()

    answer = ada.post(change(monitor), form(monitor, url=f"{site}/terms", name="Other", _preview="Preview"))

    assert "send back what you bought" in answer.content.decode()
    monitor.refresh_from_db()
    assert monitor.url.startswith("https://halden")
    assert not SettingChange.objects.exists()
    assert not Check.objects.exists()


def test_a_sample_page_of_our_own_can_be_previewed(site: str, ada: Client, settings: Any) -> None:
    settings.TEST_ALLOWED_ADDRESSES = []
    settings.SAMPLE_ORIGIN = site
    sample, other = f"{site}/sample/terms/", make_monitor(url=f"{site}/sample/other/")
    monitor = make_monitor(url=sample, is_sample=True)

    mine = ada.post(change(monitor), form(monitor, _preview="Preview")).content.decode()
    not_a_sample = ada.post(change(other), form(other, _preview="Preview")).content.decode()

    assert "send back what you bought" in mine
    assert "send back what you bought" not in not_a_sample
    assert "only public addresses are fetched" in not_a_sample


def test_a_broken_preview_on_the_change_page_is_not_taken_for_an_action(ada: Client) -> None:
    monitor = make_monitor()
    data = form(monitor, url="nonsense", _preview="Preview", **{"CHANGE_FORM-action": "pause"})

    answer = ada.post(change(monitor), {**data, "_selected_action": str(monitor.pk)})

    monitor.refresh_from_db()
    assert answer.status_code == 200
    assert monitor.enabled


def test_a_preview_that_fails_says_so_in_words(ada: Client, settings: Any) -> None:
    settings.TEST_ALLOWED_ADDRESSES = ["127.0.0.1:9"]

    answer = ada.post(reverse(ADD), form(url="http://127.0.0.1:9/", _preview="Preview"))

    assert "Nothing could be read" in answer.content.decode()


def test_a_preview_of_a_foreign_monitor_does_not_exist(ada: Client) -> None:
    foreign = make_monitor(team=make_team("Legal"))

    answer = ada.post(change(foreign), form(foreign, _preview="Preview"))

    assert answer.status_code == 302


# --- import --------------------------------------------------------------------------------------------------------

IMPORT = "admin:monitoring_monitor_import"


def upload(client: Client, text: str) -> Any:
    return client.post(reverse(IMPORT), {"file": SimpleUploadedFile("list.csv", text.encode(), "text/csv")})


def test_an_upload_is_reported_on_before_anything_is_added(ada: Client) -> None:
    make_page_type("terms")
    Vantage.objects.create(name="default")

    answer = upload(ada, "url,page_type\nhttps://a.example/,terms\nhttp://10.0.0.1/,terms\n")

    page = answer.content.decode()
    assert "https://a.example/" in page
    assert "This is no public address" in page
    assert "Add 1 monitor" in page
    assert not Monitor.objects.exists()


def test_the_confirmed_report_is_added(ada: Client) -> None:
    make_page_type("terms")
    Vantage.objects.create(name="default")
    seen = upload(ada, "url,page_type\nhttps://a.example/,terms\n")

    answer = ada.post(reverse(IMPORT), {"confirm": "Add", "sealed": seen.context["sealed"]}, follow=True)

    assert Monitor.objects.get().url == "https://a.example/"
    assert "1 monitor added" in answer.content.decode()


def test_a_report_of_somebody_else_is_refused(ada: Client) -> None:
    make_page_type("terms")
    Vantage.objects.create(name="default")
    seen = upload(ada, "url,page_type\nhttps://a.example/,terms\n")
    other = Client()
    other.force_login(make_user("otto", role="admin"))

    answer = other.post(reverse(IMPORT), {"confirm": "Add", "sealed": seen.context["sealed"]})

    assert answer.status_code == 403
    assert not Monitor.objects.exists()


def test_a_tampered_report_is_refused(ada: Client) -> None:
    answer = ada.post(reverse(IMPORT), {"confirm": "Add", "sealed": "x:y:z"}, follow=True)

    assert "Upload the file again" in answer.content.decode()


def test_an_import_names_a_foreign_team_as_unknown(ada: Client) -> None:
    make_page_type("terms")
    make_team("Legal")
    Vantage.objects.create(name="default")

    answer = upload(ada, "url,page_type,team\nhttps://a.example/,terms,Legal\n")

    assert "is no team you can use" in answer.content.decode()


def test_a_file_that_is_no_table_is_refused_in_the_form(ada: Client) -> None:
    answer = upload(ada, "name\nx\n")

    assert "no column “url”" in answer.content.decode()


def test_a_file_that_is_too_large_is_refused_with_its_size(ada: Client) -> None:
    answer = upload(ada, "url\n" + "x" * 2_000_000)

    assert "The file has 2,000,004 bytes" in answer.content.decode()


def test_an_ignore_rule_kind_is_one_of_three(ada: Client) -> None:
    ada.post(reverse(ADD), form(**ignore_row(kind="xpath", value="//a")))

    assert not IgnoreRule.objects.exists()
