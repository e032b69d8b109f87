"""The other pages: monitors, sites, log, dataset, calibration, today, preferences."""

from __future__ import annotations

import csv
import io
from datetime import timedelta
from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from monitoring.calibrating.proposal import ENOUGH
from monitoring.models import CalibrationRun, Change, FieldChange, Monitor, SettingChange
from review.models import Preferences, Verdict
from review.spreadsheet import FORMULA_STARTS, safe_cell
from tests.factories import make_change, make_check, make_monitor, make_page_type, make_snapshot, make_team
from tests.review.conftest import SignIn

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("strict_templates")]


def text(content: bytes) -> str:
    """What a page says."""
    return " ".join(BeautifulSoup(content, "html.parser").get_text(" ").split())


def field_change(**extra: Any) -> FieldChange:
    """A price that changed."""
    monitor = extra.pop("monitor", None) or make_monitor()
    values = {
        "name": "price", "type": "price", "state": "changed", "old": "89.00 EUR", "new": "79.00 EUR",
        "text": "price: 89.00 -> 79.00", "at": timezone.now(), **extra,
    }  # fmt: skip
    return FieldChange.objects.create(monitor=monitor, check_row=make_check(monitor), **values)


@pytest.mark.parametrize("name", ["monitors", "sites", "canaries", "verdicts", "fields", "today"])
def test_lists_show_nothing_of_other_teams(analyst: User, sign_in: SignIn, name: str) -> None:
    theirs = make_monitor(name="Their secret", team=make_team("Elsewhere"))
    theirs.site.name = "Secret site"
    theirs.site.save()
    change = make_change(theirs)
    field_change(monitor=theirs)
    Verdict.objects.create(
        change=change, actor=analyst, action="approve", version_seen=1, idempotency_key="z" * 32, at=timezone.now()
    )

    assert b"ecret" not in sign_in(analyst).get(reverse(name)).content


@pytest.mark.parametrize("name", ["monitors", "sites", "canaries", "verdicts", "fields", "today"])
def test_more_rows_need_no_more_queries(analyst: User, sign_in: SignIn, name: str) -> None:
    client, counts = sign_in(analyst), []
    for batch in range(2):
        for number in range(6):
            change = make_change(state="approved")
            field_change(monitor=change.monitor)
            Verdict.objects.create(
                change=change, actor=analyst, action="approve", version_seen=1,
                idempotency_key=f"{batch}-{number}", at=timezone.now(),
            )  # fmt: skip
        with CaptureQueriesContext(connection) as queries:
            assert client.get(reverse(name)).status_code == 200
        counts.append(len(queries))

    assert counts[0] == counts[1]


# --- monitors --------------------------------------------------------------------------------------------------


def test_a_monitor_collapses_quiet_runs_and_names_setting_changes(analyst: User, sign_in: SignIn) -> None:
    monitor = make_monitor(state="ok")
    now = timezone.now()
    for hours in range(10):
        make_check(monitor, outcome="none", started_at=now - timedelta(hours=hours + 1))
    make_check(monitor, outcome="noise", score=0.1, started_at=now - timedelta(hours=20))
    SettingChange.objects.create(
        monitor=monitor, name="threshold", old="3", new="5", actor_name="ada", reason="calibrated"
    )

    said = text(sign_in(analyst).get(monitor.get_absolute_url()).content)

    assert "Unchanged , 10 checks since" in said
    assert "threshold set from 3 to 5, ada: calibrated" in said.replace(" ,", ",")


def test_a_monitor_that_was_never_read_says_so(analyst: User, sign_in: SignIn) -> None:
    assert "Not yet read." in text(sign_in(analyst).get(make_monitor().get_absolute_url()).content)


def test_a_visit_can_be_asked_for(analyst: User, sign_in: SignIn) -> None:
    monitor = make_monitor(next_check_at=timezone.now() + timedelta(days=3))

    response = sign_in(analyst).post(reverse("check_now", args=[monitor.pk]), follow=True)

    monitor.refresh_from_db()
    assert monitor.next_check_at is not None
    assert monitor.next_check_at <= timezone.now()
    assert "A visit is planned" in text(response.content)


def test_a_paused_monitor_is_not_visited(analyst: User, sign_in: SignIn) -> None:
    monitor = make_monitor(enabled=False)

    assert "paused or held" in text(sign_in(analyst).post(reverse("check_now", args=[monitor.pk]), follow=True).content)


@pytest.mark.parametrize("query", ["?kind=x&span=y&before=z", "?before=2026-01-01T00:00:00", "?span=30&kind=failed"])
def test_a_monitor_survives_nonsense_in_its_address(analyst: User, sign_in: SignIn, query: str) -> None:
    assert sign_in(analyst).get(make_monitor().get_absolute_url() + query).status_code == 200


# --- sites -----------------------------------------------------------------------------------------------------


def test_a_failing_day_is_never_drawn_as_quiet(analyst: User, sign_in: SignIn) -> None:
    monitor = make_monitor(state="blocked")
    now = timezone.now()
    for outcome in ("none", "none", "blocked"):
        make_check(monitor, outcome=outcome, started_at=now)

    page = BeautifulSoup(sign_in(analyst).get(reverse("sites")).content, "html.parser")

    cells = page.select("tbody .strip i")
    assert (len(cells), cells[-1]["class"], cells[0]["class"]) == (30, ["bl"], ["o"])
    strip = page.select_one("tbody .strip")
    assert strip is not None
    assert strip["aria-label"] == "Last 30 days: 29 × no visit, 1 × blocked"
    assert "67 %" in page.get_text()


def test_a_site_without_any_difference_is_called_silent(analyst: User, sign_in: SignIn) -> None:
    monitor = make_monitor(state="ok")
    for day in range(30):
        make_check(monitor, outcome="none", started_at=timezone.now() - timedelta(days=day))

    assert "Silent" in [
        t.get_text()
        for t in BeautifulSoup(sign_in(analyst).get(reverse("sites")).content, "html.parser").select(".tag")
    ]


# --- dataset ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", [*FORMULA_STARTS, " =", "\u3000＝", "\ufeff+"])
def test_no_cell_starts_a_formula(start: str) -> None:
    assert safe_cell(f"{start}cmd()").startswith("'")


@pytest.mark.parametrize("plain", ["89.00 EUR", "", "a=b", "Ünïcode", "2026-11-30"])
def test_other_cells_stay_as_they_are(plain: str) -> None:
    assert safe_cell(plain) == plain


def test_the_csv_is_safe_and_complete(analyst: User, sign_in: SignIn) -> None:
    field_change(old='=HYPERLINK("http://evil.example","x")', new='multi\nline, "quoted"')

    response = sign_in(analyst).get(reverse("fields_csv"))

    body = b"".join(response.streaming_content).decode("utf-8-sig")  # type: ignore[attr-defined]
    rows = list(csv.DictReader(io.StringIO(body, newline="")))
    assert rows[0]["old"].startswith("'=HYPERLINK")
    assert rows[0]["new"] == 'multi\nline, "quoted"'
    assert response["Content-Disposition"] == 'attachment; filename="tideline-fields.csv"'


def test_the_dataset_narrows_by_field_and_monitor(analyst: User, sign_in: SignIn) -> None:
    wanted = field_change(new="42.00 EUR")
    field_change(name="title", new="Other")
    client = sign_in(analyst)

    for query in ({"name": "price"}, {"monitor": str(wanted.monitor_id)}):
        said = text(client.get(reverse("fields"), query).content)
        assert "42.00 EUR" in said
        assert "Other" not in said


# --- calibration -----------------------------------------------------------------------------------------------


def verdicts_on(page_type: Any, actor: User, *, approved: int, dismissed: int) -> None:
    """Decided changes with scores apart: dismissed about 0.55, approved about 0.85."""
    monitor = make_monitor(page_type=page_type)
    template = make_change(monitor, state="approved")
    rows = [("approve", 0.85)] * approved + [("dismiss", 0.55)] * dismissed
    for number, (action, score) in enumerate(rows):
        Verdict.objects.create(
            change=template, actor=actor, action=action, reason="date" if action == "dismiss" else "", score=score,
            distance=9 if action == "approve" else 4, version_seen=1, idempotency_key=f"v{number}", at=timezone.now(),
        )  # fmt: skip


def test_too_few_verdicts_give_no_proposal(lead: User, sign_in: SignIn) -> None:
    page_type = make_page_type()
    verdicts_on(page_type, lead, approved=3, dismissed=2)

    said = text(sign_in(lead).get(reverse("calibration", args=[page_type.slug])).content)

    assert f"A proposal needs {ENOUGH} approvals" in said
    assert "there are 3 and 2" in said


def test_a_proposal_changes_nothing_until_it_is_applied_with_a_reason(lead: User, sign_in: SignIn) -> None:
    page_type, client = make_page_type(), sign_in(lead)
    verdicts_on(page_type, lead, approved=ENOUGH, dismissed=ENOUGH)
    client.post(reverse("calibration_propose", args=[page_type.slug]))
    run = CalibrationRun.objects.get()
    page_type.refresh_from_db()
    assert page_type.cut == 0.5
    assert run.proposed_cut is not None
    assert 0.55 < run.proposed_cut < 0.85
    apply = reverse("calibration_apply", args=[page_type.slug])

    client.post(apply, {"run": run.pk, "do": "apply", "reason": ""})
    page_type.refresh_from_db()
    assert page_type.cut == 0.5
    client.post(apply, {"run": run.pk, "do": "apply", "reason": "dates"})
    page_type.refresh_from_db()
    assert page_type.cut == run.proposed_cut
    client.post(apply, {"run": run.pk, "do": "revert", "reason": "too high"})
    page_type.refresh_from_db()
    assert page_type.cut == 0.5


def test_what_noise_left_does_not_crowd_out_the_baseline(analyst: User, sign_in: SignIn) -> None:
    monitor = make_monitor()
    make_snapshot(monitor, role="baseline", taken_at=timezone.now() - timedelta(days=1))
    for _ in range(9):
        make_snapshot(monitor, role="noise")

    said = text(sign_in(analyst).get(monitor.get_absolute_url()).content)

    assert "baseline" in said.split("Snapshots kept")[1]


def test_who_added_a_monitor_is_told_in_words(analyst: User, sign_in: SignIn) -> None:
    monitor = make_monitor()
    SettingChange.objects.create(monitor=monitor, name="created", new=monitor.url, actor_name="ada")

    said = text(sign_in(analyst).get(monitor.get_absolute_url()).content)

    assert "Added , ada" in said
    assert "created" not in said


def test_the_first_visit_is_told_as_such(analyst: User, sign_in: SignIn) -> None:
    monitor = make_monitor()
    make_check(monitor, outcome="none", reason="first-capture")

    assert "First capture" in text(sign_in(analyst).get(monitor.get_absolute_url()).content)


def quiet_run(monitor: Any, **extra: Any) -> CalibrationRun:
    """A finished calibration of one monitor that proposes 6 bits where the page type says 3."""
    values = {
        "basis": "refetch", "state": "done", "fetches": 3, "fetched": 3, "distances": [2, 5, 4],
        "proposed_threshold": 6, "statistics": {"wide": False}, "finished_at": timezone.now(), **extra,
    }  # fmt: skip
    return CalibrationRun.objects.create(monitor=monitor, **values)


def threshold_of(monitor: Monitor) -> int | None:
    """A monitor's own threshold as stored."""
    return Monitor.objects.get(pk=monitor.pk).threshold


def test_a_monitors_proposal_is_applied_and_taken_back_on_its_page(lead: User, sign_in: SignIn) -> None:
    monitor, client = make_monitor(), sign_in(lead)
    run = quiet_run(monitor)
    address = reverse("calibrate_monitor", args=[monitor.pk])
    said = text(client.get(monitor.get_absolute_url()).content)
    assert "2, 5, 4" in said
    assert "3 (page type) → 6" in said

    client.post(address, {"run": run.pk, "do": "apply", "reason": " "})
    assert threshold_of(monitor) is None
    client.post(address, {"run": run.pk, "do": "apply", "reason": "a clock"})
    assert threshold_of(monitor) == 6
    assert "lea: a clock" in text(client.get(monitor.get_absolute_url()).content)
    client.post(address, {"run": run.pk, "do": "revert", "reason": "gone"})
    assert threshold_of(monitor) is None
    assert "taken back" in text(client.get(monitor.get_absolute_url()).content)


def test_an_empty_installation_says_on_today_how_to_begin(admin_user_of_team: User, sign_in: SignIn) -> None:
    page = sign_in(admin_user_of_team).get(reverse("today")).content

    assert "Nothing is watched yet." in text(page)
    assert reverse("admin:monitoring_monitor_add").encode() in page


def test_a_monitors_calibration_is_started_once_and_its_progress_is_shown(lead: User, sign_in: SignIn) -> None:
    monitor, client = make_monitor(), sign_in(lead)
    address = reverse("calibrate_monitor", args=[monitor.pk])
    for _ in range(2):
        client.post(address, {"do": "start"})
    run = CalibrationRun.objects.get()
    CalibrationRun.objects.update(state="running", fetched=2)

    said = text(client.get(monitor.get_absolute_url()).content)

    assert run.requested_by == lead
    assert "2 of 5 fetches done" in said
    assert "Calibrate again" not in said


def test_only_the_newest_calibration_of_a_monitor_is_applied(lead: User, sign_in: SignIn) -> None:
    monitor = make_monitor()
    old = quiet_run(monitor, proposed_threshold=40)
    quiet_run(monitor)

    sign_in(lead).post(
        reverse("calibrate_monitor", args=[monitor.pk]), {"run": old.pk, "do": "apply", "reason": "late"}
    )

    monitor.refresh_from_db()
    assert monitor.threshold is None


def test_an_analyst_reads_a_monitors_proposal_without_a_form(analyst: User, sign_in: SignIn) -> None:
    monitor = make_monitor()
    quiet_run(monitor)

    page = sign_in(analyst).get(monitor.get_absolute_url()).content

    assert "A lead or an admin can apply it." in text(page)
    assert b"calibrate/" not in page


def test_another_teams_monitor_cannot_be_calibrated(lead: User, sign_in: SignIn) -> None:
    monitor = make_monitor(team=make_team("Elsewhere"))

    answer = sign_in(lead).post(reverse("calibrate_monitor", args=[monitor.pk]), {"do": "start"})

    assert answer.status_code == 404
    assert not CalibrationRun.objects.exists()


def test_a_failed_calibration_says_why(lead: User, sign_in: SignIn) -> None:
    monitor = make_monitor()
    quiet_run(monitor, state="failed", proposed_threshold=None, problem="The server did not answer.")

    assert "The server did not answer." in text(sign_in(lead).get(monitor.get_absolute_url()).content)


def test_what_does_not_count_is_not_drawn(lead: User, sign_in: SignIn) -> None:
    page_type = make_page_type()
    verdicts_on(page_type, lead, approved=2, dismissed=0)
    Verdict.objects.update(calibrates=False)

    assert "approved · 0" in text(sign_in(lead).get(reverse("calibration", args=[page_type.slug])).content)


# --- preferences -----------------------------------------------------------------------------------------------


def preferences(client: Client, **changed: Any) -> Any:
    """The form as it stands, with some fields changed, sent."""
    fields = {
        "language": "", "time_zone": "UTC", "theme": "", "palette": "", "single_keys": "on", "spoken_marks": "on",
        "digest-rhythm": "weekly", "digest-hour": "7", "digest-weekday": "0", **changed,
    }  # fmt: skip
    return client.post(reverse("preferences"), fields, follow=True)


def test_preferences_shape_every_page(analyst: User, sign_in: SignIn) -> None:
    client = sign_in(analyst)

    preferences(client, language="de", time_zone="Asia/Tokyo", theme="dark", palette="blue-orange", spoken_marks="")
    html = BeautifulSoup(client.get(reverse("today")).content, "html.parser").html

    assert html is not None
    assert (html["lang"], html["data-theme"], html["data-diff"]) == ("de", "dark", "blue-orange")
    own = Preferences.objects.get(user=analyst)
    assert (own.time_zone, own.spoken_marks, own.single_keys) == ("Asia/Tokyo", False, True)


def test_times_are_shown_in_ones_zone(analyst: User, sign_in: SignIn) -> None:
    Preferences.objects.create(user=analyst, time_zone="Asia/Tokyo")
    change = make_change()  # captured at 09:00 UTC

    assert "30 Nov 2026, 18:00" in text(sign_in(analyst).get(reverse("change", args=[change.pk])).content)


@pytest.mark.parametrize(
    "field", [{"time_zone": "Mars/Base"}, {"theme": "pink"}, {"digest-hour": "25"}, {"language": "xx"}]
)
def test_a_wrong_preference_is_refused(analyst: User, sign_in: SignIn, field: dict[str, str]) -> None:
    response = preferences(sign_in(analyst), **field)

    assert response.status_code == 422
    assert not Preferences.objects.exists()


def test_saving_preferences_twice_keeps_one_row(analyst: User, sign_in: SignIn) -> None:
    client = sign_in(analyst)

    for _time in range(2):
        assert preferences(client, theme="dark").status_code == 200

    assert Preferences.objects.count() == 1


def test_a_broken_time_zone_in_the_database_breaks_no_page(analyst: User, sign_in: SignIn) -> None:
    Preferences.objects.create(user=analyst, time_zone="../../etc/passwd")

    assert sign_in(analyst).get(reverse("today")).status_code == 200


@pytest.mark.parametrize("target", ["https://evil.example/", "//evil.example/", "javascript:alert(1)"])
def test_no_form_sends_people_elsewhere(analyst: User, sign_in: SignIn, target: str) -> None:
    assert sign_in(analyst).post(reverse("theme"), {"next": target})["Location"] == reverse("today")
    assert Client().post(reverse("language"), {"next": target, "language": "de"})["Location"] == reverse("login")


# --- evidence --------------------------------------------------------------------------------------------------


def test_evidence_is_an_attachment_with_raw_bytes_and_facts(auditor: User, sign_in: SignIn) -> None:
    import json
    import zipfile

    from monitoring import storage

    change = make_change()
    body = b"<p>raw</p>"
    change.prior.payload = storage.put(body)
    change.prior.save()
    Change.objects.filter(pk=change.pk).update(prior=change.prior)

    response = sign_in(auditor).get(reverse("evidence", args=[change.pk]))

    bundle = zipfile.ZipFile(io.BytesIO(response.content))
    assert response["Content-Type"] == "application/octet-stream"
    assert response["Content-Disposition"].startswith("attachment;")
    assert bundle.read("prior.bin") == body
    assert json.loads(bundle.read("change.json"))["prior"]["sha256"] == change.prior.payload.sha256
    assert "new.bin.missing.txt" in bundle.namelist()
