"""Monitors: added due at once, changed on the record, paused, resumed, moved."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from monitoring.models import Monitor, SettingChange, Site, Vantage
from monitoring.services import monitors
from tests.factories import NOW, make_monitor, make_page_type, make_team, make_user

pytestmark = pytest.mark.django_db


def add(url: str = "https://halden.example/privacy", **extra: Any) -> Monitor:
    values: dict[str, Any] = {
        "name": "Privacy",
        "team": make_team(),
        "page_type": make_page_type(),
        "vantage": Vantage.objects.get_or_create(name="default")[0],
        "actor": None,
        "now": NOW,
    }
    return monitors.add_monitor(url=url, **{**values, **extra})


HOSTILE = [
    ("javascript:alert(1)", "scheme"),
    ("file:///etc/passwd", "scheme"),
    ("ftp://halden.example/", "scheme"),
    ("data:text/html,x", "scheme"),
    ("halden.example/terms", "scheme"),
    ("http://127.0.0.1/", "address"),
    ("http://127.1/", "address"),
    ("http://2130706433/", "address"),
    ("http://0x7f000001/", "address"),
    ("http://[::1]/", "address"),
    ("http://[::ffff:10.0.0.1]/", "address"),
    ("http://[64:ff9b::7f00:1]/", "address"),
    ("http://169.254.169.254/latest/meta-data/", "address"),
    ("http://10.0.0.1/", "address"),
    ("http://localhost/", "own-host"),
    ("http://intranet/", "local-name"),
    ("http://printer.local/", "local-name"),
    ("https://user:secret@halden.example/", "userinfo"),
    ("https://halden.example:22/", "port"),
    ("https://halden.example:6379/", "port"),
    ("https://halden.example\\@10.0.0.1/", "characters"),
    ("https://halden.example/\r\nHost: x", "characters"),
    ("https:///path", "host"),
    ("https://halden.example/" + "a" * 9000, "length"),
]


@pytest.mark.parametrize(("url", "code"), HOSTILE)
def test_an_address_that_must_not_be_fetched_is_refused_with_its_reason(url: str, code: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        add(url)

    assert refusal.value.code == code
    assert not Monitor.objects.exists()
    assert not Site.objects.exists()


def test_our_own_host_is_not_watched(settings: Any) -> None:
    settings.APP_ORIGIN = "https://watch.halden.example"

    with pytest.raises(ValidationError) as refusal:
        add("https://watch.halden.example/queue/")

    assert refusal.value.code == "own-host"


def test_our_own_public_interface_is_not_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    from monitoring.services import egress

    monkeypatch.setattr(egress, "_interface_addresses", lambda: frozenset({"93.184.215.14"}))

    with pytest.raises(ValidationError) as refusal:
        add("https://93.184.215.14/")

    assert refusal.value.code == "address"


def test_a_new_monitor_is_due_at_once() -> None:
    monitor = add()

    assert monitor.next_check_at == NOW
    assert monitor.state == "unread"


def test_the_site_is_found_by_the_host() -> None:
    first, second = add(), add("https://HALDEN.example:443/terms")

    assert first.site == second.site
    assert first.site.host == "halden.example"


def test_another_port_is_another_site(settings: Any) -> None:
    settings.EXTRA_PORTS = [8443]

    assert add("https://halden.example:8443/").site.host == "halden.example:8443"


def test_who_added_a_monitor_is_on_record() -> None:
    ines = make_user(role="admin")

    monitor = add(actor=ines)

    row = monitor.setting_changes.get()
    assert (row.name, row.new, row.actor, row.actor_name) == ("created", monitor.url, ines, "ines")


def test_the_same_page_twice_for_a_team_and_vantage_is_refused() -> None:
    add()

    with pytest.raises(ValidationError):
        add()


def test_settings_that_are_the_machines_cannot_be_given() -> None:
    with pytest.raises(ValidationError) as refusal:
        add(lease_token="mine", is_sample=True)

    assert "is_sample, lease_token" in refusal.value.message


@pytest.mark.parametrize(
    ("name", "value"), [("main_selector", "main["), ("cut", 1.5), ("threshold", 65), ("renderer", "curl")]
)
def test_a_bad_value_is_refused(name: str, value: object) -> None:
    with pytest.raises(ValidationError):
        add(**{name: value})  # type: ignore[arg-type]


def test_a_change_says_who_what_before_after_and_why() -> None:
    monitor = make_monitor()
    ines = make_user(role="admin")

    monitors.change_settings(monitor, {"threshold": 7}, actor=ines, reason="too noisy")

    row = SettingChange.objects.get()
    assert (row.name, row.old, row.new, row.actor_name, row.reason) == ("threshold", "", "7", "ines", "too noisy")
    monitor.refresh_from_db()
    assert monitor.threshold == 7


def test_what_stays_the_same_leaves_no_row() -> None:
    monitor = make_monitor(threshold=7)

    rows = monitors.change_settings(monitor, {"threshold": 7, "name": monitor.name}, actor=None)

    assert rows == []
    assert not SettingChange.objects.exists()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("url", "https://halden.example/other"),
        ("main_selector", "main"),
        ("renderer", "browser"),
        ("wait_selector", "#ready"),
    ],
)
def test_what_makes_the_page_look_different_asks_for_a_new_baseline(name: str, value: str) -> None:
    monitor = make_monitor(etag='"a"', region_path="main", lease_token="t", lease_until=NOW)

    monitors.change_settings(monitor, {name: value}, actor=None, now=NOW)

    monitor.refresh_from_db()
    assert monitor.rebaseline
    assert (monitor.etag, monitor.region_path) == ("", "")
    assert monitor.lease_token == ""


def test_another_page_type_asks_for_a_new_baseline() -> None:
    monitor = make_monitor()

    monitors.change_settings(monitor, {"page_type": make_page_type("terms")}, actor=None)

    monitor.refresh_from_db()
    assert monitor.rebaseline == "page type changed"


@pytest.mark.parametrize(("name", "value"), [("threshold", 9), ("name", "New name"), ("interval_s", 900), ("cut", 0.1)])
def test_what_leaves_the_page_as_it_looks_keeps_the_baseline(name: str, value: object) -> None:
    monitor = make_monitor(etag='"a"')

    monitors.change_settings(monitor, {name: value}, actor=None)

    monitor.refresh_from_db()
    assert monitor.rebaseline == ""
    assert monitor.etag == '"a"'


def test_a_new_address_is_visited_at_once_and_belongs_to_its_site() -> None:
    monitor = make_monitor(next_check_at=NOW + timedelta(days=1))

    monitors.change_settings(monitor, {"url": "https://other.example/x"}, actor=None, now=NOW)

    monitor.refresh_from_db()
    assert monitor.next_check_at == NOW
    assert monitor.site.host == "other.example"


def test_what_was_suspected_of_the_old_address_is_forgotten() -> None:
    monitor = make_monitor(suspect="gone", suspect_since=NOW, suspect_count=2, charset="shift_jis")

    monitors.change_settings(monitor, {"url": "https://other.example/x"}, actor=None, now=NOW)

    monitor.refresh_from_db()
    assert (monitor.suspect, monitor.suspect_since, monitor.suspect_count, monitor.charset) == ("", None, 0, "")


def test_a_changed_address_is_guarded_too() -> None:
    monitor = make_monitor()

    with pytest.raises(ValidationError):
        monitors.change_settings(monitor, {"url": "http://127.0.0.1/"}, actor=None)

    monitor.refresh_from_db()
    assert monitor.url.startswith("https://halden")
    assert not SettingChange.objects.exists()


def test_the_machines_own_fields_cannot_be_changed_as_settings() -> None:
    with pytest.raises(ValidationError):
        monitors.change_settings(make_monitor(), {"baseline_id": 1}, actor=None)


def test_pausing_and_resuming_stand_in_the_record() -> None:
    monitor = make_monitor()
    ines = make_user(role="admin")

    paused = monitors.pause([monitor.pk], actor=ines)
    again = monitors.pause([monitor.pk], actor=ines)
    resumed = monitors.resume([monitor.pk], actor=ines, now=NOW)

    assert (paused, again, resumed) == (1, 0, 1)
    assert list(SettingChange.objects.order_by("pk").values_list("name", "old", "new")) == [
        ("enabled", "yes", "no"),
        ("enabled", "no", "yes"),
    ]


def test_resuming_takes_a_monitor_back_that_was_set_aside() -> None:
    monitor = make_monitor(enabled=False, quarantined_at=NOW, stage_failures=3)

    monitors.resume([monitor.pk], actor=None, now=NOW)

    monitor.refresh_from_db()
    assert monitor.quarantined_at is None
    assert monitor.next_check_at == NOW


def test_check_now_leaves_paused_ones_alone() -> None:
    active, paused = make_monitor(next_check_at=NOW + timedelta(days=1)), make_monitor(enabled=False)

    count = monitors.check_now([active.pk, paused.pk], now=NOW)

    active.refresh_from_db()
    assert count == 1
    assert active.next_check_at == NOW


def test_moving_counts_those_that_had_another_type() -> None:
    terms = make_page_type("terms")
    there, elsewhere = make_monitor(page_type=terms), make_monitor()

    count = monitors.move([there.pk, elsewhere.pk], terms, actor=None)

    elsewhere.refresh_from_db()
    assert count == 1
    assert elsewhere.page_type == terms


def test_moving_many_takes_few_queries(django_assert_max_num_queries: Any) -> None:
    ids = [make_monitor().pk for _number in range(50)]
    terms = make_page_type("terms")

    with django_assert_max_num_queries(8):
        monitors.move(ids, terms, actor=None, reason="sorted")

    assert SettingChange.objects.filter(name="page_type", old="Privacy policy", new="Terms").count() == 50
    assert set(Monitor.objects.values_list("rebaseline", flat=True)) == {"page type changed"}


def test_first_visits_take_turns_between_sites() -> None:
    times = monitors.first_times([7, 7, 8], now=NOW)

    step = monitors.FIRST_CHECKS_STEP
    assert times == [NOW, NOW + 2 * step, NOW + step]


def test_first_visits_fit_into_the_window() -> None:
    times = monitors.first_times(list(range(5000)), now=NOW)

    assert max(times) < NOW + monitors.FIRST_CHECKS_WINDOW


def in_twentieths(times: list[datetime], start: datetime, span: timedelta) -> list[int]:
    """How many of the times lie in each twentieth of a span."""
    counts = [0] * 20
    for at in times:
        counts[min(int((at - start) / span * 20), 19)] += 1
    return counts


def test_first_visits_of_a_large_import_spread_over_the_pages_own_intervals() -> None:
    daily, hourly = (
        make_page_type("daily", default_interval_s=86_400),
        make_page_type("hourly", default_interval_s=3600),
    )
    site, team = Site(pk=1, host="a.example"), make_team()
    rows = [
        Monitor(url=f"https://a.example/{n}", site=site, team=team, vantage_id=1, page_type=daily if n % 2 else hourly)
        for n in range(8000)
    ]

    monitors.plan_first(rows, now=NOW)

    for page_type in (daily, hourly):
        span = timedelta(seconds=page_type.default_interval_s)
        times = [one.next_check_at for one in rows if one.page_type is page_type and one.next_check_at]
        counts = in_twentieths(times, NOW, span)
        assert NOW <= min(times) < max(times) < NOW + span
        assert max(counts) < 1.3 * 200
        assert min(counts) > 0.7 * 200
    assert all(one.deadline_at and one.next_check_at and one.deadline_at > one.next_check_at for one in rows)


def test_a_promise_shorter_than_the_interval_bounds_the_first_visit_too() -> None:
    page_type = make_page_type("weekly", default_interval_s=604_800, max_interval_s=86_400)
    rows = [
        Monitor(url=f"https://a.example/{n}", team=make_team(), vantage_id=1, page_type=page_type) for n in range(2000)
    ]

    monitors.plan_first(rows, now=NOW)

    assert max(one.next_check_at for one in rows if one.next_check_at) < NOW + timedelta(days=1)


def test_a_vantage_that_asks_as_somebody_else_gives_its_monitors_new_baselines() -> None:
    monitor = make_monitor()
    other = make_monitor(vantage=Vantage.objects.create(name="elsewhere"))

    count = monitors.change_vantage(monitor.vantage, {"country": "DE"}, actor=None)

    monitor.refresh_from_db()
    other.refresh_from_db()
    assert count == 1
    assert monitor.rebaseline == "vantage changed"
    assert other.rebaseline == ""


def test_a_proxys_password_gets_no_further_than_the_door() -> None:
    monitor = make_monitor()

    with pytest.raises(ValidationError, match="A password is not kept here"):
        monitors.change_vantage(monitor.vantage, {"proxy_url": "http://me:hunter2@gate.example:7777"}, actor=None)

    monitor.vantage.refresh_from_db()
    assert monitor.vantage.proxy_url == ""
    assert not SettingChange.objects.exists()


def test_a_password_from_before_is_not_in_the_record() -> None:
    monitor = make_monitor()
    Vantage.objects.update(proxy_url="http://me:hunter2@gate.example:7777")
    monitor.vantage.refresh_from_db()

    monitors.change_vantage(monitor.vantage, {"proxy_url": "http://me:{secret:GATE}@gate.example:7777"}, actor=None)

    row = SettingChange.objects.get()
    assert "hunter2" not in row.old + row.new


def test_renaming_a_vantage_keeps_baselines() -> None:
    monitor = make_monitor()

    assert monitors.change_vantage(monitor.vantage, {"name": "Home"}, actor=None) == 0


def test_a_page_types_threshold_is_on_record_and_keeps_baselines() -> None:
    monitor = make_monitor()

    monitors.change_page_type(monitor.page_type, {"threshold": 9}, actor=make_user(role="admin"), reason="calibrated")

    monitor.refresh_from_db()
    row = SettingChange.objects.get()
    assert (row.page_type, row.old, row.new, row.reason) == (monitor.page_type, "3", "9", "calibrated")
    assert monitor.rebaseline == ""


def test_a_page_types_rule_gives_all_its_monitors_new_baselines() -> None:
    first, second = make_monitor(), make_monitor()

    monitors.log_rule("ignore", "", "selector: .ad", actor=None, page_type=first.page_type)

    assert set(Monitor.objects.values_list("rebaseline", flat=True)) == {"rules changed"}
    assert second.page_type == first.page_type


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://me:secret@gate.example:1", "http://me:••••••@gate.example:1"),
        ("http://me:a@b:c@gate.example:1", "http://me:••••••@gate.example:1"),
        ("http://me@gate.example:1", "http://me@gate.example:1"),
        ("http://gate.example:1", "http://gate.example:1"),
        ("", ""),
    ],
)
def test_a_proxy_is_shown_without_its_password(url: str, shown: str) -> None:
    assert monitors.mask_proxy(url) == shown
